// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/integrity"
	"github.com/yuba-dev/yuba/internal/testkit/damagetest"
	"github.com/yuba-dev/yuba/internal/tofu/state"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	damageSeed   = flag.Uint64("damage-seed", 1, "of random damage")
	damageRounds = flag.Int("damage-rounds", 6, "how often a home is damaged at random")
)

// homeOptions are those of "yuba up", which keeps its blobs in the data directory.
func homeOptions(dir string, accept ...integrity.Loss) Options {
	options := testOptions(dir)
	options.BlobsHere, options.AcceptLoss = true, accept
	options.Log = slog.New(slog.DiscardHandler)
	return options
}

// homes are directories of one home: as it was stopped, as it was killed, and a backup of it.
type homes struct{ stopped, killed, backup string }

func makeHomes(t *testing.T) homes {
	t.Helper()
	dir := t.TempDir()
	h := homes{stopped: t.TempDir(), killed: t.TempDir(), backup: filepath.Join(t.TempDir(), "backup.tar")}
	p, err := Start(t.Context(), homeOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	secretWith(t, clientOf(t, p), "kept", "as it was")
	large := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tfstate-default-large", Annotations: map[string]string{state.AnnotationStateBlob: "states/one"}}}
	if _, err := clientOf(t, p).CoreV1().Secrets("default").Create(t.Context(), large, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	key, err := blob.LoadOrCreateKey(datadir.Dir(dir).BlobKey())
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+datadir.Dir(dir).Blobs(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(blobs.PutBytes(t.Context(), "states/one", []byte("state")), blobs.Close(), p.Record()); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(h.backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Backup(t.Context(), archive), archive.Close()); err != nil {
		t.Fatal(err)
	}
	stop(t, p)
	damagetest.CopyTo(t, dir, h.stopped)
	command, out := child(t, dir)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	kill(t, command)
	damagetest.CopyTo(t, dir, h.killed)
	return h
}

// digestOf is of everything in a home but the lock, which says who looked last.
func digestOf(t *testing.T, dir string) uint64 {
	t.Helper()
	return damagetest.Digest(t, dir, "lock")
}

// refusal starts a home and wants it to be refused soon, and left as it is.
func refusal(t *testing.T, dir string) *datadir.RefusedError {
	t.Helper()
	before, began := digestOf(t, dir), time.Now()
	p, err := Start(t.Context(), homeOptions(dir))
	took := time.Since(began)
	if err == nil {
		stop(t, p)
	}
	var refused *datadir.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want a refusal", err)
	}
	if took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if digestOf(t, dir) != before {
		t.Error("something was changed")
	}
	return refused
}

// startsWith starts a home and returns what the Secret in it says, "gone" when there is none.
func startsWith(t *testing.T, dir string, accept ...integrity.Loss) string {
	t.Helper()
	p, err := Start(t.Context(), homeOptions(dir, accept...))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	if _, err := clientOf(t, p).CoreV1().Secrets("default").Get(t.Context(), "kept", metav1.GetOptions{}); gone(err) == nil {
		return "gone"
	}
	return contentOf(t, clientOf(t, p), "kept")
}

func removing(names ...string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, name := range names {
			damagetest.Remove(t, filepath.Join(dir, name))
		}
	}
}

// cutting gives the newest of the files that match another length.
func cutting(pattern string, length func(int64) int64) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		damagetest.Cut(t, damagetest.Newest(t, filepath.Join(dir, pattern)), length)
	}
}

func TestDamagedHomesAreRefused(t *testing.T) {
	h := makeHomes(t)
	another := t.TempDir()
	p, err := Start(t.Context(), homeOptions(another))
	if err != nil {
		t.Fatal(err)
	}
	stop(t, p)
	from := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			removing(name)(t, dir)
			damagetest.CopyTo(t, filepath.Join(another, name), filepath.Join(dir, name))
		}
	}
	const whole, nothing = "as it was", "gone"
	for sentence, test := range map[string]struct {
		damage func(*testing.T, string)
		want   string
		accept []integrity.Loss
		// then is what the Secret says after the loss was accepted.
		then string
	}{
		"the store is gone":                 {removing("etcd"), "etcd/ has no store", []integrity.Loss{integrity.LossObjects}, nothing},
		"the member is gone":                {removing("etcd/member"), "etcd/", []integrity.Loss{integrity.LossObjects}, nothing},
		"the store and its record":          {removing("etcd", "home.json"), "etcd/ has no store", []integrity.Loss{integrity.LossObjects}, nothing},
		"the database is half":              {cutting("etcd/member/snap/db", func(int64) int64 { return 64 << 10 }), "etcd/member/snap/db is truncated", []integrity.Loss{integrity.LossObjects}, nothing},
		"the log is gone":                   {removing("etcd/member/wal"), "etcd/member/wal", []integrity.Loss{integrity.LossLastChanges}, whole},
		"the log is empty":                  {cutting("etcd/member/wal/*.wal", damagetest.Empty), "is truncated", []integrity.Loss{integrity.LossLastChanges}, whole},
		"the key of Secrets is gone":        {removing("keys/encryption.yaml"), "keys/encryption.yaml is missing", []integrity.Loss{integrity.LossObjects}, nothing},
		"the key of Secrets is another one": {from("keys/encryption.yaml"), "keys/encryption.yaml is not the key", []integrity.Loss{integrity.LossObjects}, nothing},
		"the key of Secrets and the record": {func(t *testing.T, dir string) { removing("home.json")(t, dir); from("keys/encryption.yaml")(t, dir) }, "keys/encryption.yaml is not the key", []integrity.Loss{integrity.LossObjects}, nothing},
		"the keys are gone":                 {removing("keys"), "keys/encryption.yaml is missing", []integrity.Loss{integrity.LossObjects, integrity.LossBlobs, integrity.LossCredentials}, nothing},
		"the authority is gone":             {removing("keys/ca.key", "keys/ca.crt"), "keys/ca.crt is missing", []integrity.Loss{integrity.LossCredentials}, whole},
		"the key of tokens":                 {removing("keys/service-account.key"), "keys/service-account.key is missing", []integrity.Loss{integrity.LossCredentials}, whole},
		"the blobs are gone":                {removing("blobs"), "blobs/ is missing", []integrity.Loss{integrity.LossBlobs}, whole},
		"the key of blobs is gone":          {removing("keys/blob.agekey"), "These states do not fit and are lost: default/tfstate-default-large:\n", []integrity.Loss{integrity.LossBlobs}, whole},
		"the store of another":              {from("etcd"), "", []integrity.Loss{integrity.LossObjects}, nothing},
		"the format is gone":                {removing("version"), "holds its format, is missing", nil, ""},
		"the format is empty":               {cutting("version", damagetest.Empty), "instead of a number", nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := damagetest.Copy(t, h.stopped)
			test.damage(t, dir)
			if got := refusal(t, dir); !strings.Contains(got.Error(), test.want) || len(got.Ways) == 0 {
				t.Errorf("error %v, want %q", got, test.want)
			}
			if test.accept == nil {
				return
			}
			if got := startsWith(t, dir, test.accept...); got != test.then {
				t.Errorf("after the loss was accepted, the API has %q, want %q", got, test.then)
			}
			aside, err := filepath.Glob(filepath.Join(dir, "before-*"))
			if err != nil || len(aside) != 1 || !strings.HasPrefix(filepath.Base(aside[0]), "before-accepted-loss-") {
				t.Errorf("the damaged part is in %q (%v), want one directory before-accepted-loss-…", aside, err)
			}
			if _, err := integrity.Check(datadir.Dir(dir), true); err != nil {
				t.Errorf("the next start is refused: %v", err)
			}
		})
	}
}

func TestAWholeHomeIsNotRefused(t *testing.T) {
	h := makeHomes(t)
	t.Run("killed", func(t *testing.T) {
		if got := startsWith(t, damagetest.Copy(t, h.killed)); got != "as it was" {
			t.Errorf("it has %q", got)
		}
	})
	t.Run("of an older Yuba", func(t *testing.T) {
		dir := damagetest.Copy(t, h.stopped)
		removing("home.json", "etcd/stopped.json")(t, dir)
		if got := startsWith(t, dir); got != "as it was" {
			t.Errorf("it has %q", got)
		}
		if _, err := os.Stat(filepath.Join(dir, "home.json")); err != nil {
			t.Errorf("it has no record now: %v", err)
		}
	})
	t.Run("with a further key", func(t *testing.T) {
		dir := damagetest.Copy(t, h.stopped)
		path := filepath.Join(dir, "keys", "encryption.yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		further := "      keys:\n      - name: key2\n        secret: " + strings.Repeat("A", 43) + "="
		if err := os.WriteFile(path, bytes.Replace(text, []byte("      keys:"), []byte(further), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := startsWith(t, dir); got != "as it was" {
			t.Errorf("it has %q", got)
		}
	})
	t.Run("refused, and restored", func(t *testing.T) {
		dir := damagetest.Copy(t, h.stopped)
		removing("etcd", "keys", "blobs")(t, dir)
		refusal(t, dir)
		archive, err := os.Open(h.backup)
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		if _, err := stageRestore(dir, archive); err != nil {
			t.Fatal(err)
		}
		if got := startsWith(t, dir); got != "as it was" {
			t.Errorf("it has %q", got)
		}
	})
	t.Run("refused, and given its keys back", func(t *testing.T) {
		dir := damagetest.Copy(t, h.stopped)
		removing("keys")(t, dir)
		refusal(t, dir)
		if out, err := exec.CommandContext(t.Context(), "tar", "-xf", h.backup, "-C", dir, "keys").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := startsWith(t, dir); got != "as it was" {
			t.Errorf("it has %q", got)
		}
	})
}

// Whatever is damaged: the start is refused and changes nothing, or everything is there.
func TestRandomDamageOfAHome(t *testing.T) {
	h := makeHomes(t)
	random := rand.New(rand.NewPCG(*damageSeed, 0))
	for i := range *damageRounds {
		dir := damagetest.Copy(t, []string{h.stopped, h.killed}[i%2])
		what := damagetest.AtRandom(t, random, dir, "etcd/member/snap/db", "etcd/member/wal/*.wal", "etcd/stopped.json", "keys/ca.*", "keys/*.yaml",
			"keys/*.key", "keys/blob.agekey", "keys/etcd/*", "blobs/.recipient", "home.json", "version", "kubeconfig")
		before := digestOf(t, dir)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		said, err := startChild(ctx, dir)
		cancel()
		switch {
		case strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") || errors.Is(err, context.DeadlineExceeded):
			t.Errorf("round %d (-damage-seed %d), %s: %v, it says %s", i, *damageSeed, what, err, said)
		case strings.Contains(said, "ready"):
			if got := startsWith(t, dir); got != "as it was" {
				t.Errorf("round %d (-damage-seed %d), %s: ready with %q", i, *damageSeed, what, got)
			}
		case !strings.Contains(said, "data directory") || digestOf(t, dir) != before:
			t.Errorf("round %d (-damage-seed %d), %s: not refused as it should be, or changed: %s", i, *damageSeed, what, said)
		}
		removing(".")(t, dir)
	}
}

// startChild starts a home in a process of its own and kills it once it is ready.
func startChild(ctx context.Context, dir string) (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, executable)
	command.Env = append(os.Environ(), childDirectory+"="+dir, childOnce+"=yes")
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}
