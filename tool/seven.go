package tool

import "github.com/hermes-exec/hermes-exec/config"

// Seven returns the built-in tools of a program that was told nothing, see Builtin.
func Seven() []Tool { return Builtin(config.Web{}) }

// Builtin returns the built-in tools in alphabetical order: patch, read_file, search_files, terminal,
// web_extract, web_search and write_file. Those of the web have these settings.
func Builtin(web config.Web) []Tool {
	return []Tool{
		patchTool{},
		readTool{},
		searchTool{},
		terminalTool{},
		webExtractTool{web},
		webSearchTool{web},
		writeTool{},
	}
}

// limit is for Param.Above and Param.Below.
func limit(n float64) *float64 { return new(n) }

// atLeast is for Param.Min.
func atLeast(n int64) *int64 { return new(n) }
