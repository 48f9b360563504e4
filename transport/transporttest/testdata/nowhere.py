"""Without a channel: importing works, calling raises with a sentence that helps (B064)."""
import hermes_tools

assert hermes_tools.shell_quote("a b") == "'a b'"
try:
    hermes_tools.echo(1)
except hermes_tools.TransportError as e:
    assert "HERMES_RPC_TOKEN" in str(e) and "hermes-exec" in str(e), e
    print("ok")
