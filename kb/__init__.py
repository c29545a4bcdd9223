"""The knowledge base: entries, retrieval and executable rewrites."""
