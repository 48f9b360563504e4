//go:build !linux

package wire

import "time"

func wait(d time.Duration) { <-time.After(d) }
