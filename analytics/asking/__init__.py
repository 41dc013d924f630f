"""What people ask the enforcer to do: who may ask for what, the row that is the asking, what became of it."""
