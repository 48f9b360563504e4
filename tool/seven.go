package tool

// Seven returns the built-in tools in alphabetical order: patch, read_file, search_files, terminal,
// web_extract, web_search and write_file.
func Seven() []Tool {
	return []Tool{
		patchTool{},
		readTool{},
		searchTool{},
		terminalTool{},
		webExtractTool{},
		webSearchTool{},
		writeTool{},
	}
}

// limit is for Param.Above and Param.Below.
func limit(n float64) *float64 { return new(n) }

// atLeast is for Param.Min.
func atLeast(n int64) *int64 { return new(n) }
