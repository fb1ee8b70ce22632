"""The HTTP routes, one router per noun. They hold no logic: they parse, call and wrap."""
