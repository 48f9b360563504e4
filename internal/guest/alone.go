package guest

// Alone is what an interpreter that was started with Argv is sent to run code that is no agent.
func Alone(code []byte) []byte {
	return append(append(readLine(len(code), "alone"), '\n'), code...)
}
