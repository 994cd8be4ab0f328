"""ROOT as a judge: one process imports it, and each job runs in a child that is forked from that process.

``root.run(function, directory, *arguments)`` runs a function in a directory and returns what it returns. The function
is one of a module that needs nothing but ROOT's Python. A crash takes nothing along, and two jobs may have classes of
one name that differ. C++ that a job loads by :mod:`macros` is compiled once and kept.
"""
