"""Traces of reads, for programs that read by themselves and let ``arrowroot replay`` ask what would be elsewhere."""

from arrowroot._report.trace import origin, record

__all__ = ["origin", "record"]
