"""Real JupyterLab in a real browser. A package, so that pytest ends the browser with the last of these tests."""
