// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/platform/blueprint"
)

// interviewed answers the questions on a terminal of its own, and returns what it showed.
func interviewed(t *testing.T, answers ...string) (file, shown string, err error) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close() //nolint:errcheck // of a test
	var screen strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			screen.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() { // the terminal keeps lines until they are read
		for _, answer := range answers {
			if _, err := master.WriteString(answer + "\n"); err != nil {
				return
			}
		}
	}()
	g := &group{App: &session.App{Console: &ui.Console{In: slave, Out: slave, Err: slave, Color: "never"}}}
	type end struct {
		file string
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		file, err := g.ask()
		ended <- end{file, err}
	}()
	select {
	case e := <-ended:
		slave.Close() //nolint:errcheck,gosec // ends the reader
		<-read
		return e.file, screen.String(), e.err
	case <-time.After(30 * time.Second):
		t.Fatalf("the questions do not end")
		return "", "", nil
	}
}

func TestAnswersBecomeABlueprint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "platform.yaml")
	name, shown, err := interviewed(t,
		"Acme Ltd", "acme", // nonsense is asked for again
		"?", "ops@acme.example.org",
		"localhost", "acme.example.org",
		"API", "<", "Manual", // back, and another answer
		"eu-1, eu-1", "eu-1,us-1", "hetzner", "fsn1", "2", "3", "many", "2", "cx32", "", "vault, portal", "", "", "Auto", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b, problems, err := blueprint.Read(text)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v %v\n%s", err, problems, text)
	}
	s := b.Platform.Spec
	if b.Platform.Name != "acme-example-org" || s.Domain.FQDN != "acme.example.org" || s.Domain.Mode != "Manual" || len(s.Regions) != 2 || s.Regions[0].ControlPlanes != 3 ||
		s.Regions[1].Workers != 2 || s.Regions[0].Location != "fsn1" || s.Regions[1].Location != "" || s.Regions[0].CredentialsRef.Name != "hetzner" || len(s.Components) != 2 || s.Approval != "Auto" {
		t.Errorf("the blueprint is\n%s", text)
	}
	for _, words := range []string{`"Acme Ltd": want lower-case`, "Providers and certificate authorities", `"localhost": want a DNS name`, "DNS provider [hetzner]", `"eu-1" is there twice`, `"2": want 1, 3, 5`, `"many": want a number`, "Secret with the provider's credentials (\"-\" for none) [hetzner]"} {
		if !strings.Contains(shown, words) {
			t.Errorf("%q was not shown:\n%s", words, shown)
		}
	}
}

func TestAFileIsNotOverwritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "platform.yaml")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := interviewed(t, "acme", "-", "acme.example.org", "", "", "", "-", "", "", "-", "-", "-", "", "", "", file)
	if text, _ := os.ReadFile(file); err == nil || !strings.Contains(err.Error(), "nothing was overwritten") || string(text) != "mine" { //nolint:errcheck // compared
		t.Errorf("error %v, file %q", err, text)
	}
}
