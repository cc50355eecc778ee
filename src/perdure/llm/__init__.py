"""Language models: what one must do, and its adapters, each imported only when it is chosen."""
