"""Makes a package that stands in for matplotlib where there is none: what a backend is asked for, and no
more. Put before a script, it is there for what the script imports."""

import os
import sys
import tempfile

FILES = {
    "__init__.py": '''
import os
rcParams = {"backend": os.environ.get("MPL" "BACKEND", "agg")}
def is_interactive(): return False
def use(name): rcParams.update(backend=name)
''',
    "_pylab_helpers.py": '''
import atexit
class Gcf:
    figs = {}
    @classmethod
    def get_all_fig_managers(cls): return list(cls.figs.values())
    @classmethod
    def destroy(cls, num): cls.figs.pop(num).destroy()
    @classmethod
    def destroy_all(cls):
        for manager in cls.get_all_fig_managers(): manager.destroy()
        cls.figs.clear()
atexit.register(Gcf.destroy_all)
''',
    "backend_bases.py": '''
class FigureManagerBase:
    def __init__(self, canvas, num): self.canvas, self.num = canvas, num
    def destroy(self): pass
''',
    "backends/__init__.py": "",
    "backends/backend_agg.py": '''
class FigureCanvasAgg:
    def __init__(self, figure): self.figure, figure.canvas = figure, self
    def draw(self):
        self.figure.drawn += 1
        self.figure.layout = 1
    def print_figure(self, filename, dpi=None, format=None):
        if self.figure.text == "bad": raise ValueError("it is bad")
        self.figure.dpi = dpi
        FigureCanvasAgg.draw(self)
        self.figure.dpi = None
        texts = [self.figure.text] + [label.text for label in self.figure.labels]
        data = b"\\x89PNG\\r\\n\\x1a\\n" + "+".join(texts).encode()
        if hasattr(filename, "write"):
            filename.write(data)
        else:
            with open(filename, "wb") as file: file.write(b"%s at %d" % (data, dpi) if dpi else data)
''',
    "pyplot.py": '''
import importlib
from matplotlib import rcParams
from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
name = rcParams["backend"]
backend = importlib.import_module(name[len("module://"):]) if name.startswith("module://") else None
def get_backend(): return name
class Artist:
    stale_callback = None
    def __init__(self, text): self.text = text
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in ("text", "layout", "dpi", "labels") and self.stale_callback: self.stale_callback(self, True)
class Figure(Artist):
    def __init__(self, text): self.text, self.labels, self.drawn = text, [], 0
    def findobj(self, match=None): return [part for part in [self] + self.labels if not match or match(part)]
    def savefig(self, file, **kwargs): self.canvas.print_figure(file, **kwargs)
def figure(text):
    num = max(Gcf.figs, default=0) + 1
    canvas = (backend.FigureCanvas if backend else FigureCanvasAgg)(Figure(text))
    Gcf.figs[num] = getattr(canvas, "manager_class", FigureManagerBase)(canvas, num)
    return canvas.figure
def close(): Gcf.destroy(max(Gcf.figs))
def show(*args, **kwargs):
    return backend.show(*args, **kwargs) if backend else None
''',
}

_top = tempfile.TemporaryDirectory()
for _name, _text in FILES.items():
    _path = os.path.join(_top.name, "matplotlib", _name)
    os.makedirs(os.path.dirname(_path), exist_ok=True)
    with open(_path, "w") as _file:
        _file.write(_text)
sys.path.insert(0, _top.name)
