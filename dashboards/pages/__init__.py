"""The pages, one module each, with a function `render`."""
