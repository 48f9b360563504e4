package server

import "os/user"

// surroundings tell apart the processes of which none could serve the other.
func surroundings() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Uid
}

// private trusts that HERMES_HOME is below the user's own profile.
func private(string) error { return nil }
