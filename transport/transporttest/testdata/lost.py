"""Waits in a call that is never answered, and says how it ended."""
import hermes_tools

print("begin", flush=True)
try:
    print(hermes_tools.wait("never"))
except hermes_tools.TransportError as e:
    assert isinstance(e, RuntimeError)
    print("lost")
