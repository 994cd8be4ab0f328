"""Random classes and values, written by ROOT without a compiler: what arrowroot reads of them is compared.

``python -m tests.differential.schemas --n 2000 --seed 1``; ``--kind ntuple`` writes RNTuples. A finding names its seed:
``--n 1 --seed SEED`` repeats it.
"""
