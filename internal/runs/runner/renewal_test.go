// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// printing prints its token for each word in its gate, which is a named pipe. It opens the pipe once,
// for writing too: a pipe without a reader drops the words that are still in it.
const printing = `
resource "terraform_data" "long" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = "mkfifo gate; exec 3<>gate; while read -r word <&3 && [ $word != end ]; do echo $word: $(cat $CLOUD_TOKEN_FILE); cp $CLOUD_TOKEN_FILE seen-$word; done"
  }
}
`

// tell writes a word to the gate of a stack, and waits until the program has printed its token. A
// word may be repeated: the answer to the last one is removed first.
func (b *bench) tell(stack, word string) (token string) {
	b.t.Helper()
	src := filepath.Join(b.opts.WorkRoot, "team", stack, "src")
	if err := os.Remove(filepath.Join(src, "seen-"+word)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	eventually(b.t, "the gate", func() bool {
		_, err := os.Lstat(filepath.Join(src, "gate"))
		return err == nil
	})
	if err := os.WriteFile(filepath.Join(src, "gate"), []byte(word+"\n"), 0); err != nil {
		b.t.Fatal(err)
	}
	eventually(b.t, "the token after "+word, func() bool {
		text, err := os.ReadFile(filepath.Join(src, "seen-"+word))
		token = string(text)
		return err == nil && token != "" || word == "end"
	})
	return token
}

func (b *bench) long(stack string, life time.Duration) *fakeRun {
	r := b.stack(stack, run.OperationPlanAndApply, program(printing))
	r.tokenLife = life
	r.spec.Identities = []run.Identity{{Audience: "cloud.example.com", Env: []run.EnvVar{{Name: "CLOUD_TOKEN_FILE", Value: run.IdentityPath}}}}
	return b.server.submit(r)
}

// concealed waits for the end, and checks that the log has the words, and no token.
func (b *bench) concealed(r *fakeRun, words ...string) {
	b.t.Helper()
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
		b.t.Errorf("%+v", result)
	}
	for _, word := range words {
		if !strings.Contains(string(r.log), word+": (sensitive)") {
			b.t.Errorf("no masked token after %q", word)
		}
	}
	if strings.Contains(string(r.log), "-of-a-cloud") || b.t.Failed() {
		b.t.Errorf("the log:\n%s", r.log)
	}
}

// A token of two seconds is renewed after 1.6.
func TestALongApplyGetsRenewedTokensAndTheLogMasksThem(t *testing.T) {
	t.Parallel()
	b := newBench(t).start()
	r := b.long("renewing", 2*time.Second)
	first := b.tell("renewing", "first")
	b.server.wait(r, "a renewal", func() bool { return r.tokens >= 3 })
	if second := b.tell("renewing", "second"); second == first { // on a slow machine, the first is renewed before
		t.Errorf("the program saw %s and %s", first, second)
	}
	b.tell("renewing", "end")
	b.concealed(r, "first", "second")
}

// The first runner dies before it has read what the program printed. The next one gets another
// token at once, and masks all of them.
func TestTheNextRunnerMasksTheTokensOfTheFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.process()
	r := b.long("inherited", time.Hour)
	b.tell("inherited", "before")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	between := b.tell("inherited", "between")
	b.process()
	b.server.wait(r, "another token", func() bool { return r.tokens >= 2 })
	after := between
	eventually(t, "the next token", func() bool {
		after = b.tell("inherited", "after")
		return after != between
	})
	b.tell("inherited", "end")
	b.concealed(r, "before", "between", "after")
	if between != tokenNumber(1) || after != tokenNumber(2) {
		t.Errorf("the program saw %s and %s", between, after)
	}
}

// The result of a run waits in the spool while the server is away, but no token does.
func TestTokensAreForgottenBeforeTheServerIsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t).start()
	r := b.long("waiting", time.Hour)
	b.tell("waiting", "first")
	kept := spool.Dir{Root: b.spooled(r, "")}
	if tokens := kept.IdentityTokens(); len(tokens) != 1 {
		t.Errorf("%d tokens during the run", len(tokens))
	}
	b.server.stop()
	b.tell("waiting", "end")
	eventually(t, "a result in the spool, and no tokens", func() bool {
		_, err := os.Stat(b.spooled(r, spool.ResultFile))
		return err == nil && len(kept.IdentityTokens()) == 0
	})
	b.server.start()
	b.concealed(r, "first")
}

// States that no server takes stay on disk, but no tokens.
func TestTokensAreNotKeptWithStates(t *testing.T) {
	t.Parallel()
	b := newBench(t).start()
	r := b.stack("keyless", run.OperationPlanAndApply, program(`resource "terraform_data" "a" {}`))
	r.tokenLife, r.refuse = time.Hour, 410
	r.spec.Identities = []run.Identity{{Audience: "cloud.example.com", Env: []run.EnvVar{{Name: "CLOUD_TOKEN_FILE", Value: run.IdentityPath}}}}
	b.do(r)
	b.drain()
	kept := 0
	err := filepath.WalkDir(b.data, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // removed meanwhile
		}
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), "-of-a-cloud") {
			t.Errorf("a token in %s", path)
		}
		if strings.HasPrefix(path, filepath.Join(b.opts.Dir, "orphans")) {
			kept++
		}
		return nil
	})
	if err != nil || kept == 0 {
		t.Errorf("%d files of the state are kept (%v)", kept, err)
	}
}
