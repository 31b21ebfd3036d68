"""The store: the one room that speaks SQLite, and the recordings on disk.

Connections, migrations, batches, projections, receipts, outbox, queries, reconcile, recordings.
It knows what a table holds, not what a conversation is for. Its threads live in `efr.threads`.
"""
