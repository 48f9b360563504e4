"""await aio.TOOL, many at once, and one that is cancelled."""
import asyncio

import hermes_tools
from hermes_tools import aio


async def main():
    got = await asyncio.gather(*[aio.echo(i) for i in range(200)])
    assert got == list(range(200)), got
    many = [asyncio.ensure_future(aio.wait("all")) for _ in range(40)]
    while await aio.echo(1) != 1 or hermes_tools._call("waiting", {})["n"] < 40:
        pass
    assert await aio.go("all") == {"name": "all"}
    await asyncio.gather(*many)

    lost = asyncio.ensure_future(aio.wait("never"))
    while hermes_tools._call("waiting", {})["n"] < 1:
        await asyncio.sleep(0.001)
    lost.cancel()
    try:
        await lost
    except asyncio.CancelledError:
        pass
    while hermes_tools._call("waiting", {})["n"] > 0:  # the handler's context has ended
        await asyncio.sleep(0.001)
    assert await aio.echo("after") == "after"
    try:
        await aio.echo({1})
    except TypeError:
        pass
    else:
        raise AssertionError("accepted a set")
    try:
        aio.nothing
    except AttributeError as e:
        assert "nothing" in str(e)
    else:
        raise AssertionError("has aio.nothing")


asyncio.run(main())
print("ok")
