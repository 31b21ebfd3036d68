"""The search index: what the indexer writes page by page, and what the search lanes read.

The tables are in `sql/0009_search.sql`. They are no projection: a rebuild of the projections leaves
them alone, and a new version of the redaction empties them, so that they are filled anew from the
log. Which text may come in is decided by `efr.text.indexed`.
"""
