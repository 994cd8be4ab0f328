"""The lines to write for what people from uproot, ROOT and pandas type first, in tables by what they type.

Each line runs as it stands, as does what a comment has behind a colon, and gives what was asked for: ``file`` is what
``ar.open("events.root")`` gives, ``tree`` one of its trees, ``column`` what ``tree["x"]`` gives, ``scan`` what
``tree.scan()`` gives, ``new`` what ``ar.create("new.root")`` gives, ``table`` what ``new.tree("t")`` gives, ``hist`` a
histogram, ``map`` one of two dimensions, ``data`` a table or a dictionary of arrays, ``more`` one that
has the columns of ``tree``.
"""

from __future__ import annotations

_READ = 'tree.to_awkward(["x"])  # or to_numpy, to_pandas, to_polars, to_arrow'
_READ_ALL = "scan.to_awkward()  # or to_numpy, to_pandas, to_polars, to_arrow"
_FILTER = 'tree.to_arrow(["x"], filter="x > 1")'
_WRITE = 'ar.write("new.root:t", tree)'
_WRITE_SCAN = 'ar.write("new.root:t", scan)'
_HEAD = "tree.to_pandas(entries=slice(0, 5))"
_TAIL = "tree.to_pandas(entries=slice(-5, None))"
_COUNT = 'tree.num_entries  # with a condition: len(tree.entries_where("x > 1"))'
_HISTOGRAM = (
    'tree.scan(filter="n > 2").hist({"x": ar.Hist((100, 0, 10), x="x")})["x"]  '
    '# or, of numbers: np.histogram(tree.to_numpy(["x"], filter="n > 2")["x"], bins=100)'
)
_DEFINE = 'tree.to_awkward(["sum"], define={"sum": "x + y"})'
NEW = 'with ar.create("new.root") as new: new["t"] = data'
#: To add a table to a file.
ADD = 'with ar.update("events.root") as new: new["more"] = data'
_MORE = 'ar.write("new.root:t", more); ar.merge("all.root", ["events.root", "new.root"])'
_CHAIN_FILTERED = 'ar.scan(["a.root", "b.root"], tree="t", columns=["x"], filter="x > 1")'
_CHAIN = 'ar.scan(["a.root", "b.root"], tree="t")'
_PARQUET = 'import pyarrow.parquet; pyarrow.parquet.write_table(tree.to_arrow(), "new.parquet")'
_X = 'tree["x"]'
#: What makes one number of a column, and how NumPy and Awkward Array call it. RDataFrame divides by n - 1.
_REDUCED = {
    "Mean mean": "mean()",
    "Sum sum": "sum()",
    "Min min GetMinimum": "min()",
    "Max max GetMaximum": "max()",
    "std": "std()",
    "StdDev": "std(ddof=1)",
}
_KEYS = "file.key_list(recursive=True, cycles=False)"
_MATCHING = 'tree.column_names  # by a pattern: tree.scan("Muon_*").column_names'
_DESCRIBED = 'tree.to_pandas(["x"]).describe()'
_SORTED = 'tree.to_arrow().sort_by("x")'
_UNIQUE = 'tree["n"].to_arrow().unique()  # how often: tree["n"].to_arrow().value_counts()'
_FEWER = 'tree.to_arrow(["*", "!x"])'
_OF_BIN = "bin 0 is the underflow, as ROOT counts; in two dimensions"
_FIT = "2 * hist.to_hist()  # the library hist computes"
_ZIPPED = 'tree.to_awkward("Muon_*", objects=True)'
_COLUMN = "column.to_numpy()  # or to_awkward, to_pandas, to_polars, to_arrow"


def _of_awkward(column: str, call: str) -> str:
    """Return what makes one number of all items of lists."""
    name, _, more = call.partition("(")
    return f"ak.{name}({', '.join(filter(None, (f'{column}.to_awkward()', more.removesuffix(')'))))})"


#: What uproot, RDataFrame, TTree and pandas call things of a tree, and of many columns.
_OF_TREE = {
    "arrays array lazy AsNumpy Take values to_numpy_dict read": _READ,
    "pandas df to_df to_dataframe": 'tree.to_pandas(["x"])',
    "keys branch_names allkeys iterkeys GetColumnNames GetListOfBranches GetListOfLeaves fields field_names": _MATCHING,
    "typenames dtypes GetColumnType interpretation form": "tree.schema",
    "show Print Describe info PrintInfo GetDescriptor GetModel": "print(tree)",
    "describe Stats stats summary": _DESCRIBED,
    "head Scan Show Display take GetEntry": _HEAD,
    "tail": _TAIL,
    "iterate to_batches iter_batches itervalues": 'for batch in tree.scan(["x"], batch_size="100 MB"): print(batch)',
    "GetEntries GetEntriesFast GetNEntries GetNElements Count count num_rows shape size nrows": _COUNT,
    "Draw Histo1D Histo2D Histo3D Profile1D hist histogram plot": _HISTOGRAM,
    "Filter filter query where Cut select_rows": _FILTER,
    "sort sort_values sort_by order_by": _SORTED,
    "unique value_counts nunique Unique": _UNIQUE,
    "groupby group_by": 'tree.to_pandas(["x", "n"]).groupby("n")',
    "drop exclude": _FEWER,
    "rename": 'tree.to_pandas(["x"]).rename(columns={"x": "z"})',
    "isna isnull dropna fillna notna": 'tree.to_arrow(["x"], filter="!is_null(x)")',
    "sample": "tree.to_arrow(entries=np.sort(np.random.default_rng(1).choice(len(tree), 5, replace=False)))",
    "Report": 'len(tree.entries_where("x > 1"))',
    "Define Alias SetAlias Redefine assign with_columns eval": _DEFINE,
    "Range iloc loc slice": "tree.to_arrow(entries=slice(0, 5))",
    "select": 'tree.to_arrow(["x", "y"])',
    **{
        names: f"{_X}.to_numpy().{call}  # of lists: {_of_awkward(_X, call)}"
        for names, call in _REDUCED.items()
    },
    "Snapshot to_root to_file write CloneTree CopyTree": _WRITE,
    "to_parquet to_feather": _PARQUET,
    "to_csv": 'tree.to_pandas().to_csv("new.csv")',
    "to_pickle to_json to_hdf to_excel": 'tree.to_pandas().to_pickle("new.pkl")',
    "SetEntryList": "tree.to_arrow(entries=[1, 3])",
    "extend append fill Fill add": _MORE + "  # entries of both",
    "SetBranchStatus SetBranchAddress Branch": 'tree.scan(["x", "y"])',
    "GetBranch GetLeaf GetColumn GetView branch": 'tree["x"]',
    "AddFriend": 'tree.add_friend(other)  # entry by entry; by columns: tree.add_friend(other, index=["run", "event"])',
    "join merge": 'tree.add_friend(other, "other", index=["run", "event"])',
    "to_dask dask": 'ar.dask.dataframe("events.root", tree="t")',
    "metadata": "print(tree)  # and tree.title, tree.aliases, tree.user_info",
    "BuildIndex": "tree.pick([(1, 1, 1)])  # by run, luminosity block and event",
    "Foreach ForEach Process Loop MakeClass apply map pipe itertuples iterrows": (
        'for batch in tree.scan(["x"]): print(batch)'
    ),
    "num_baskets compressed_bytes uncompressed_bytes compression_ratio nbytes memory_usage": (
        "tree.columns[0].stored_bytes  # and n_baskets, memory_bytes, compression_ratio, of each column"
    ),
    "to_list tolist to_pylist": "tree.to_arrow().to_pylist()",
    "to_dict to_pydict": "tree.to_arrow().to_pydict()",
    "to_records": 'tree.to_pandas(["x"]).to_records()',
    "to_table collect execute load compute materialize": "tree.to_arrow()",
    "to_torch to_tensorflow to_tensor to_jax": 'tree.to_numpy(["x"])["x"]',
    "to_duckdb": "tree.scan()  # DuckDB, too, takes it as a stream of Arrow",
    "num_clusters cluster_sizes": "np.diff(tree.clusters)",
    "file parent": "tree.url",
    "kind type is_rntuple": "tree.class_name",
    "friends": "tree.recorded_friends",
    "index": "tree.recorded_index",
    "compression codec": "tree.columns[0].compression  # of each column",
    "get": 'tree["x"]',
    "GetName": "tree.name",
    "GetTitle": "tree.title",
    "close Close": "file.close()",
}
_OF_SCAN = {
    "arrays array read read_pandas to_table collect compute load result materialize": _READ_ALL,
    "iterate to_batches iter_batches": "for batch in scan: print(batch)",
    "keys columns names": "scan.column_names",
    "typenames dtypes": "scan.schema",
    "show Print": "print(scan)",
    "head take": "next(iter(scan))",
    "to_list tolist to_pylist": "scan.to_arrow().to_pylist()",
    "to_dict": "scan.to_arrow().to_pydict()",
    "filter Filter query where select Cut loc": _CHAIN_FILTERED,
    "Define Alias assign with_columns eval": 'ar.scan(["a.root", "b.root"], tree="t", define={"sum": "x + y"})',
    "Draw Histo1D Histo2D Profile1D plot histogram": 'scan.hist({"x": ar.Hist((100, 0, 10), x="x")})["x"]',
    "Mean Sum Min Max StdDev mean sum min max std describe": "scan.to_pandas().describe()",
    "sort sort_values sort_by": 'scan.to_arrow().sort_by("x")',
    "unique value_counts": 'scan.to_arrow()["n"].unique()',
    "groupby": 'scan.to_pandas().groupby("n")',
    "map apply pipe foreach Foreach": "for batch in scan: print(batch)",
    "to_csv": 'scan.to_pandas().to_csv("new.csv")',
    "to_dask dask": 'ar.dask.dataframe("events.root", tree="t")',
    "Range slice": "tree.scan(entries=slice(0, 5))",
    "num_rows count Count shape": "scan.drain().n_entries  # scan.num_entries are those that it looks at",
    "write to_root to_file Snapshot": _WRITE_SCAN,
    "to_parquet": 'import pyarrow.parquet; pyarrow.parquet.write_table(scan.to_arrow(), "new.parquet")',
    "close": "scan.cancel()",
}
_OF_COLUMN = {
    "array arrays read numpy values data content basket": _COLUMN,
    "to_list tolist to_pylist": "column.to_arrow().to_pylist()",
    "equals combine_chunks chunk chunks num_chunks cast null_count filter take slice unique is_valid": (
        "column.to_arrow()  # a pyarrow.ChunkedArray"
    ),
    "typename dtype interpretation": "column.metadata.type_name",
    "title": "column.metadata.title",
    "num_baskets compressed_bytes uncompressed_bytes compression_ratio": (
        "column.metadata.stored_bytes  # and n_baskets, memory_bytes, compression_ratio"
    ),
    "num_entries shape size": "len(column)",
    "hist histogram plot": (
        'tree.scan().hist({"x": ar.Hist((100, 0, 10), x="x")})["x"]  '
        "# or: np.histogram(column.to_numpy(), bins=100)"
    ),
    **{names: f"column.to_numpy().{call}" for names, call in _REDUCED.items()},
    "head": "column.to_numpy(entries=slice(0, 5))",
}
#: NumPy has no lists of different lengths.
_OF_LISTS = {
    **_OF_COLUMN,
    "array arrays read numpy values data content basket": (
        "column.to_awkward()  # or to_pandas, to_polars, to_arrow"
    ),
    "hist histogram plot": (
        'tree.scan().hist({"v": ar.Hist((100, 0, 10), x="v")})["v"]  '
        "# or: np.histogram(ak.flatten(column.to_awkward(), axis=None), bins=100)"
    ),
    **{names: _of_awkward("column", call) for names, call in _REDUCED.items()},
    "head": "column.to_awkward(entries=slice(0, 5))",
}
_OF_FILE = {
    "Get GetObject get_object get_tree tree ttree read": 'file["t"]',
    "walk": "file.key_list()",
    "size GetSize": "file.size_bytes",
    "histograms objects": '[file[key.path] for key in file.key_list() if key.class_name.startswith("TH")]',
    "classnames classname_of": "{key.path: key.class_name for key in file.key_list()}",
    "iterclassnames iterkeys iteritems itervalues": "for name in file.keys(): print(name)",
    "ls Ls Map show GetListOfKeys GetKeys": "print(file)",
    "recreate": NEW,
    "mktree newtree mkrntuple mkdir Write update extend": ADD,
    "arrays array to_awkward to_numpy to_pandas to_polars": 'file["t"].to_awkward(["x"])',
    "to_arrow iterate scan": 'file["t"].scan(["x"])',
    "column_names": 'file["t"].column_names',
    "cd": 'file["directory"]',
    "Close": "file.close()",
    "file_path path_name GetName name filename": "file.url",
    "IsZombie IsOpen": 'ar.open("events.root")  # says what is wrong',
}
_OF_NEW = {
    "mktree newtree add_tree": 'new["t"] = data  # or new.tree("t", schema), to append to',
    "mkrntuple": 'new.tree("t", layout="rntuple").append(data)',
    "mkdir makedirs cd": 'new.directory("plots")',
    "keys classnames": 'ar.open("new.root").keys()  # once it is closed',
    "extend append write Write fill": 'new["t"] = data',
    "Close": "new.close()",
}
_OF_TABLE = {
    "extend write Write": "table.append(data)",
    "fill Fill": "table.append(data)  # several threads have a table.context() each",
    "Branch SetBranchAddress": 'new.tree("t", {"x": pa.float32()}).append({"x": [1, 2]})',
    "AddFriend": 'new.tree("t", friends={"other": "other.root:t"}).append(data)',
    "num_rows GetEntries": "table.num_entries",
}
_OF_HISTOGRAM = {
    "GetBinContent At": f"hist.values(flow=True)[2]  # {_OF_BIN}: map.values(flow=True)[2, 3]",
    "GetBinError": f"hist.errors(flow=True)[2]  # {_OF_BIN}: map.errors(flow=True)[2, 3]",
    "GetArray content contents": "hist.values()  # flow=True has underflow and overflow, too",
    "GetEntries entries": "hist.num_entries",
    "Integral GetSumOfWeights sum": "hist.values().sum()",
    "GetMean average": 'hist.mean()  # of y, in two dimensions: map.mean("y")',
    "GetStdDev GetRMS rms stddev std_dev": 'hist.std()  # of y, in two dimensions: map.std("y")',
    "GetMaximum max": "hist.values().max()",
    "GetNbinsX nbins": "hist.axis(0).n_bins",
    "GetNbinsY": "map.axis(1).n_bins",
    "GetYaxis": "map.axis(1).edges()  # and centers, widths",
    "edges GetXaxis GetBinLowEdge GetBinCenter bins": "hist.axis(0).edges()  # and centers, widths",
    "Draw plot show Print": "print(hist.to_hist())  # or hist.to_hist().plot()",
    "Scale Add Divide Multiply Rebin rebin Fit ProjectionX project density": _FIT,
    "Fill fill": 'tree.scan().hist({"x": ar.Hist((100, 0, 10), x="x")})["x"]',
    "all_members member": "hist.members",
    "to_pandas": 'pd.DataFrame({"x": hist.axis(0).centers, "y": hist.values()})',
    "SaveAs savefig": 'plt.stairs(*hist.to_numpy()); plt.savefig("h.png")',
    "to_pyroot Clone Write": 'new["h"] = hist',
    "GetName": "hist.name",
    "GetTitle": "hist.title",
}
_OF_MODULE = {
    "recreate writing": NEW,
    "newtree mktree": NEW + '  # to append to: with ar.create("new.root") as new: new.tree("t").append(data)',
    "TFile": 'ar.open("events.root")  # to write: with ar.create("new.root") as new: new["t"] = data',
    "hadd": 'ar.merge("all.root", ["a.root", "b.root"])',
    "convert to_parquet": (
        'import pyarrow.parquet; pyarrow.parquet.write_table(ar.open("events.root")["t"].to_arrow(), "new.parquet")'
        '  # to ROOT: ar.write("new.root:t", pyarrow.parquet.read_table("table.parquet"))'
    ),
    "iterate": f"for batch in {_CHAIN}: print(batch)",
    "concatenate lazy TChain chain Chain dataset arrays": f"{_CHAIN}.to_awkward()",
    "from_root read_dask": 'ar.dask.dataframe("events.root", tree="t")',
    "NanoEventsFactory NanoEvents": 'ar.open("events.root")["t"].to_awkward("Muon_*", objects=True)',
    "join": 'ar.open("events.root")["t"].add_friend(ar.open("other.root")["t"], "other", index="event")',
    "RDataFrame read_root read read_table root_open load": (
        'ar.open("events.root")["t"].to_pandas(["x"], filter="x > 1")'
    ),
    "to_root save write_root from_pandas from_arrow": 'ar.write("new.root:t", data)',
    "list_trees ls": 'ar.open("events.root").trees',
    "concat": f"{_CHAIN}.to_arrow()",
    "head show": 'print(ar.open("events.root")["t"].to_pandas(entries=slice(0, 5)))',
    "draw hist histogram plot Histo1D": (
        'ar.scan("events.root", tree="t").hist({"x": ar.Hist((100, 0, 10), x="x")})["x"]'
    ),
    "num_entries count": 'ar.open("events.root")["t"].num_entries',
    "from_parquet read_parquet read_csv": (
        'import pyarrow.parquet; ar.write("new.root:t", pyarrow.parquet.read_table("table.parquet"))'
    ),
    "version": "ar.__version__",
    "cp copy": 'ar.merge("new.root", ["events.root"])',
    "to_pandas to_numpy to_awkward to_polars to_arrow": 'ar.open("events.root")["t"].to_pandas(["x"])',
    "ZSTD ZLIB LZ4 LZMA": 'ar.write("new.root:t", data, compression="zstd:5")',
    "EnableImplicitMT": 'ar.scan("a.root", tree="t", n_threads=2)  # threads are used without being asked for',
    "RNTupleReader TTreeReader": 'ar.open("events.root")["t"]',
    "RNTupleWriter RNTupleModel": 'ar.write("new.root:t", data, layout="rntuple")',
    "TH1 TH1F TH1D TH2 TH2F TH2D": (
        'with ar.create("new.root") as new: new["h"] = np.histogram([1, 2, 2], bins=3)'
    ),
    "config configure options set_option settings": (
        'ar.open("events.root", strategy="treecache")  # all that hold: ar.configuration()'
    ),
    "exceptions errors": "ar.ArrowrootError  # the base of all",
}

#: Arguments of reading that others have. The first line counts whose argument a call has.
TO_READ = {
    "cut selection where query filters": 'filter="x > 1"',
    "exclude drop": 'columns=["*", "!x"]',
    "entry_start start entrystart skiprows firstentry": "entries=slice(5, None)",
    "entry_stop stop entrystop nrows n_rows n_entries nentries nevents max_events n limit range": "entries=slice(0, 5)",
    "step_size stepsize chunksize chunk_size": 'batch_size="100 MB"  # or batch_entries=100_000, of scan()',
    "step_size stepsize chunksize chunk_size ": 'target="256 MB"',
    "expressions branches branch usecols names keys keep": 'columns=["x", "y"]',
    "filter_typename filter_branch": 'columns=lambda name: name.startswith("x")',
    "num_workers workers max_workers executor decompression_executor interpretation_executor nthreads threads": (
        "n_threads=2"
    ),
    "array_cache object_cache": 'memory_budget="512 MB"',
    "how": _ZIPPED,
    "library": "tree.to_pandas()  # or to_numpy, to_awkward, to_arrow, to_polars",
    "aliases": 'define={"sum": "x + y"}',
    "treename tree_name": 'tree="t"',
    "tree treename tree_name ": 'ar.open("events.root")["t"]',
    "recursive": 'columns=["v*"]',
    "flatten": "tree.to_awkward()  # ak.flatten, and ak.to_dataframe, flatten",
}
#: What uproot calls its libraries.
LIBRARIES = {
    "np": "tree.to_numpy()",
    "pd": "tree.to_pandas()",
    "ak": "tree.to_awkward()",
    "pl": "tree.to_polars()",
    "pa": "tree.to_arrow()",
}
#: Arguments of which entries are made: the first, the end, and how many.
OF_ENTRIES = {
    "start": "entry_start start entrystart skiprows firstentry",
    "stop": "entry_stop stop entrystop",
    "number": "nrows n_rows n_entries nentries nevents max_events n limit",
}
#: Arguments of ``keys`` that others have.
TO_LIST = {
    "recursive cycle cycles": _KEYS,
    "filter_name": '[name for name in file.keys() if name.startswith("h")]',
    "filter_classname": '[key.path for key in file.key_list() if key.class_name == "TTree"]',
}
#: Arguments of writing that others have.
TO_WRITE = {
    "mode append update": (
        f'ar.write("events.root:more", data)  # what the file has stays; more entries of a table: {_MORE}'
    ),
    "overwrite force recreate exist_ok replace": (
        'ar.write("new.root:t", data)  # a table of this name is replaced'
    ),
    "rntuple ntuple": 'layout="rntuple"',
    "num_workers workers nthreads threads": "n_threads=2",
    "tree treename name key": 'ar.write("new.root:t", data)',
    "compression_level level compression_algorithm": 'compression="zstd:5"',
    "autoflush autosave cluster_size row_group_size": "flush=100_000",
    "splitlevel split_level": "layout=ar.Layout(split=0)",
    "basketsize": 'basket_size="32 kB"',
    "format": 'layout="rntuple"',
    "title_of branch_titles": 'titles={"x": "in GeV"}',
    "branch_types dtypes types": 'new.tree("t", {"x": pa.float32()}).append({"x": [1, 2]})',
    "library": 'ar.write("new.root:t", data)',
    "index": 'new.tree("t", index=("run", "event")).append(data)',
}
#: Arguments of merging and of skimming that others have.
TO_MERGE = {
    "force overwrite recreate replace": 'ar.merge("all.root", ["a.root", "b.root"])  # an older file is replaced',
    "compression level compression_level": 'ar.skim(["a.root", "b.root"], "all.root", "t", compression="zstd:5")',
    "tree trees objects names": 'rules={"t": "concatenate", "*": "drop"}',
    "filter cut selection": 'ar.skim(["a.root", "b.root"], "all.root", "t", filter="x > 1")',
}
TO_SKIM = {
    **TO_READ,
    "force overwrite recreate replace": 'ar.skim("a.root", "skim.root", "t")  # an older file is replaced',
}
#: Arguments of histograms to be filled that others have.
TO_FILL = {
    "bins nbins range low high xmin xmax edges axis": 'ar.Hist((100, 0, 10), x="x")',
    "weights": 'weight="x"',
    "filter selection query": 'where="x > 1"',
    "expression column columns var": 'x="x"',
    "name title label": 'tree.scan().hist({"h": ar.Hist((100, 0, 10), x="x")})  # with its name before it',
}

#: The kind of a column of lists, beside the names of classes.
LISTS = "TreeColumn of lists"
#: The lines for attributes that a kind of object does not have.
ATTRIBUTES = {
    "Tree": _OF_TREE,
    "Scan": _OF_SCAN,
    "TreeColumn": _OF_COLUMN,
    LISTS: _OF_LISTS,
    "File": _OF_FILE,
    "Directory": _OF_FILE,
    "WritableFile": _OF_NEW,
    "WritableDirectory": _OF_NEW,
    "TableWriter": _OF_TABLE,
    "Histogram": _OF_HISTOGRAM,
    "Profile": _OF_HISTOGRAM,
    "arrowroot": _OF_MODULE,
    "arrowroot.dask": {"from_root read_root array from_map": 'ar.dask.dataframe("events.root", tree="t")'},
}


#: Calls that take something by position where others have an argument of a name.
BY_POSITION = {
    "merge": 'ar.merge("all.root", ["a.root", "b.root"])',
    "write": 'ar.write("new.root:t", data)',
    "open": _CHAIN,
    "create": NEW,
    "tree": 'new.tree("t", {"x": pa.float32()}, layout="rntuple").append({"x": [1, 2]})',
    "append": "table.append(data)",
    "keys": _KEYS,
    "key_list": _KEYS,
    "Layout": 'ar.Layout("rntuple", compression="zstd:5")',
    "EventList": 'ar.EventList([(1, 1, 1)], missing="warn")',
    "index": 'ar.index("events.root:t", "index.parquet")',
    "Hist": 'ar.Hist((100, 0, 10), x="x")',
    "skim": 'ar.skim(["a.root", "b.root"], "skim.root", "t", filter="x > 1")',
    "scan": 'ar.scan(["a.root", "b.root"], "t", ["x"], filter="x > 1")',
    "add_friend": 'tree.add_friend(other, "other", index="event")',
}
TO_SELECT = f"{_FILTER}  # all but columns by name"
#: The arguments of calls that do not read.
ARGUMENTS = {
    **dict.fromkeys(("create", "update", "write", "tree", "Layout"), TO_WRITE),
    "keys": TO_LIST,
    "Hist": TO_FILL,
    "merge": TO_MERGE,
    "skim": TO_SKIM,
}
#: What gives objects of classes that nobody else makes.
MAKING = {
    "File": 'ar.open("events.root")',
    "Directory": 'ar.open("events.root")["directory"]',
    "Tree": 'ar.open("events.root")["t"]',
    "TreeColumn": 'ar.open("events.root")["t"]["x"]',
    "Scan": 'ar.scan("events.root", tree="t")',
    "WritableFile": NEW,
    "WritableDirectory": 'new.directory("plots")',
    "TableWriter": 'new.tree("t", {"x": pa.float32()}).append({"x": [1, 2]})',
}
#: The types of columns, by ROOT's names and the letters of its leaves.
TYPES = {
    "Float_t F Float16_t f float_t": "float32",
    "Double_t D Double32_t d double_t": "float64",
    "Int_t I int": "int32",
    "UInt_t i unsigned uint": "uint32",
    "Long64_t L long Long_t": "int64",
    "ULong64_t l ulong ULong_t": "uint64",
    "Short_t S short": "int16",
    "UShort_t s ushort": "uint16",
    "Char_t B char signed": "int8",
    "UChar_t b uchar byte": "uint8",
    "Bool_t O": "bool",
    "C char* TString std::string str text object": "string",
}
