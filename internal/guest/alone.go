package guest

import "fmt"

// readAlone reads code as readBootstrap does.
const readAlone = "import os,sys;B=bytearray();N=%d;" +
	"any(len(B)>=N or B.extend(os.read(0,N-len(B)) or sys.exit()) for _ in iter(int,1));" +
	"exec(compile(bytes(B),'alone.py','exec'))\n"

// Alone is what an interpreter that was started with Argv is sent to run code that is no agent.
func Alone(code []byte) []byte { return append(fmt.Appendf(nil, readAlone, len(code)), code...) }
