module github.com/hermes-exec/hermes-exec

go 1.26
