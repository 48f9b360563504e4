package ssh_test

import (
	"net/url"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend/ssh"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]ssh.Config{
		"ssh://gpu1":            {Host: "gpu1"},
		"ssh://gpu1?spool=sftp": {Host: "gpu1", SpoolSFTP: true},
		"ssh://gpu1/":           {Host: "gpu1"},
		"ssh://[::1]:22/dir":    {Host: "::1", Port: 22, Dir: "/dir"},
		"ssh://me@[fe80::1]:2222?dir=%2Fsrv&key=%2Fk&host_key_checking=accept-new&mode=strict&python=python3.12&spool=agent": {
			Host: "fe80::1", User: "me", Port: 2222, Dir: "/srv", Key: "/k", AcceptNew: true, Strict: true, Python: "python3.12",
		},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ssh.ParseURL(u); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"ssh:", "ssh:gpu1", "ssh://", "ssh://gpu1/dir?dir=%2Fdir", "ssh://me:secret@gpu1", "ssh://gpu1:99999", "ssh://gpu1?mode=lax",
		"ssh://gpu1?host_key_checking=no", "ssh://gpu1?spool=ftp", "ssh://gpu1?color=red",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ssh.ParseURL(u); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
}
