"""Model providers: one module per model API, logins, catalogs, and which provider answers.

A provider turns a canonical request into one HTTP exchange and its answer into canonical stream
events. This room knows nothing of conversations, tools or permissions; it blocks on the thread
that calls it and constructs no thread. Facts: docs/conversations.md.
"""
