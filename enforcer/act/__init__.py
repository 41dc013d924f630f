"""Acting: effects as values, the ways down and back, and the one module that carries them out."""
