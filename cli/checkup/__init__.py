"""What `quartermaster doctor` looks at, a module a subject: each gives lines, and none raises for what it finds."""
