// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

func TestTofuInstallsFromTheRegistryAndEachTimeIsCounted(t *testing.T) {
	mirror := t.TempDir()
	program := providerIn(mirror)
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	// Init does not start the installed program.
	if err := os.WriteFile(program, []byte("#!/bin/false\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := newRegistry(mirror)
	if err != nil {
		t.Fatal(err)
	}
	defer r.server.Close()
	const times = 2
	for range times {
		h := &byHand{tofu: tofutest.Tofu(t), dir: t.TempDir()}
		config, err := r.writeConfig(h.dir)
		if err != nil {
			t.Fatal(err)
		}
		h.env = []string{"TF_CLI_CONFIG_FILE=" + config}
		files := repository(1, content{provider: true})
		for name, text := range files {
			target := filepath.Join(h.dir, name)
			if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h.dir = filepath.Join(h.dir, stackPath(0))
		if err := h.run(t.Context(), "init"); err != nil {
			t.Fatal(err)
		}
	}
	downloads, sent := r.counts()
	if downloads != times || sent != int64(times*len(r.archive)) {
		t.Errorf("%d downloads, %d bytes; want %d of %d bytes each", downloads, sent, times, len(r.archive))
	}
}
