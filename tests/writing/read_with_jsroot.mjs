// `node read_with_jsroot.mjs JSROOT JOBS`: prints what jsroot reads of branches, as JSON.
// JSROOT is the folder of its package. JOBS is a list of {"path", "table", "names"}; the answer has, for each,
// an object of {"values"} or {"error"} by name.
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

const [jsroot, jobs] = process.argv.slice(2);
const part = (name) => import(pathToFileURL(`${jsroot}/modules/${name}.mjs`));
const [{ openFile }, { TSelector, treeProcess }] = [await part('io'), await part('tree')];
const { rntupleProcess } = await part('rntuple');
const withoutViews = (_, value) => {
  if (typeof value === 'bigint') return Number(value);
  return ArrayBuffer.isView(value) ? Array.from(value) : value;
};

// Some of its promises are never kept: then there is nothing left to do.
async function ended(promise) {
  let refuse;
  const idle = new Promise((_, reject) => {
    refuse = () => {
      setImmediate(() => {});
      reject(new Error('it never ends'));
    };
    process.once('beforeExit', refuse);
  });
  try {
    return await Promise.race([promise, idle]);
  } finally {
    process.off('beforeExit', refuse);
  }
}

async function read(tree, name) {
  const selector = new TSelector();
  const values = [];
  selector.addBranch(name, 'value');
  selector.Process = function () {
    // The next entry may be read into the same object.
    values.push(JSON.parse(JSON.stringify(this.tgtobj.value, withoutViews)));
  };
  const run = tree._typename === 'ROOT::RNTuple' ? rntupleProcess : treeProcess;
  await ended(run(tree, selector));
  return values;
}

const found = [];
for (const job of JSON.parse(await readFile(jobs, 'utf8'))) {
  const tree = await (await openFile(job.path)).readObject(job.table);
  const told = {};
  for (const name of job.names) {
    try {
      told[name] = { values: await read(tree, name) };
    } catch (error) {
      told[name] = { error: String(error) };
    }
  }
  found.push(told);
}
await new Promise((done) => process.stdout.write(`\n${JSON.stringify(found)}\n`, done));
process.exit(0);
