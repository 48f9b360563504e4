package threads

import "testing"

func TestPlan(t *testing.T) {
	for _, tt := range []struct{ room, processors, use, threads int }{
		{unlimited, 2, 2, 0},
		{unlimited, 64, 8, 0},
		{100, 64, 8, 16},
		{15, 8, 6, 12}, // three are left for processes
		{9, 2, 2, 6},
		{8, 2, 2, 5},
		{6, 2, 1, 5}, // threads come first
		{2, 2, 1, 2},
		{0, 2, 1, 0},
		{-40, 2, 1, 0},
	} {
		if use, threads := plan(tt.room, tt.processors); use != tt.use || threads != tt.threads {
			t.Errorf("room for %d on %d processors: %d processors, %d threads; want %d, %d",
				tt.room, tt.processors, use, threads, tt.use, tt.threads)
		}
	}
}
