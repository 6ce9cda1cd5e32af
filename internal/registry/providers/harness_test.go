// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

const thing = "acme/thing"

// bench is a store and a registry, and the real tofu between them.
type bench struct {
	t        testing.TB
	registry *registrytest.Registry
	store    *Store
	tofu     string
	ca       string
	// calls counts the downloads that were begun, whatever came of them.
	calls atomic.Int32
	// settings are more of the tool's configuration.
	settings string
}

func newBench(t testing.TB) *bench {
	store, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, registry: registrytest.New(t), store: store, tofu: tofutest.Tofu(t)}
	b.ca = b.registry.CAFile(t.TempDir())
	return b
}

func (b *bench) publish(version string, faults ...registrytest.Fault) *bench {
	b.registry.Publish(thing, version, registrytest.Program("thing", version), faults...)
	return b
}

func (b *bench) address() Address {
	b.t.Helper()
	a, err := ParseAddress(b.registry.Source(thing), "")
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// fetch has tofu install, as a runner does but without a sandbox.
func (b *bench) fetch(ctx context.Context, dir, mirror string, a Address) error {
	b.calls.Add(1)
	config := b.settings + "\nprovider_installation {\n"
	if mirror != "" {
		config += fmt.Sprintf("  filesystem_mirror {\n    path    = %q\n    include = [%q]\n  }\n", mirror, a)
	}
	config += "  direct {}\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "tofu.rc"), []byte(config), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.tofu, "init", "-backend=false", "-no-color", "-input=false")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSL_CERT_FILE=" + b.ca, "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "tofu.rc"), "TF_REGISTRY_DISCOVERY_RETRY=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, out.Bytes())
	}
	return nil
}

// get gets what is wanted from the shared scope, and releases it.
func (b *bench) get(want Want) (Got, error) {
	b.t.Helper()
	want.Address = b.address()
	got, err := b.store.Scope("").Get(b.t.Context(), want, b.fetch)
	got.Release()
	return got, err
}

// must is get where nothing can go wrong.
func (b *bench) must(want Want) Got {
	b.t.Helper()
	got, err := b.get(want)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// at sets the store's clock.
func (b *bench) at(now time.Time) { b.store.Now = func() time.Time { return now } }

func mismatch(err error) bool {
	var m *MismatchError
	return errors.As(err, &m)
}
