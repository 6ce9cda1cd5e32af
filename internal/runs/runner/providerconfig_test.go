// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// The tool finds providers in the source, as without a store.
func TestProvidersThatTheSourceBringsAreUsed(t *testing.T) {
	b := newStoreBench(t)
	b.start()
	files := b.program("registry.example.com/yuba/dummy", "1.2.3")
	for name, content := range bundled(t) {
		files["terraform.d/plugins/"+name] = content
	}
	r := b.stack("bundled", run.OperationPlan, files)
	b.installed(r)
	if list, err := providers.List(b.opts.ProviderStore); err != nil || len(list) > 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// bundled is a directory of providers as the tool expects it.
func bundled(t *testing.T) map[string]string {
	mirror := mirrorWith(t, "dummy", "1.2.3")
	files := map[string]string{}
	err := filepath.Walk(mirror, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		relative, _ := filepath.Rel(mirror, path)
		files[relative] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAFullDiskIsSaidAndDoesNoHarm(t *testing.T) {
	b := newStoreBench(t)
	small(t, "2m", b.opts.ProviderStore)
	large := registryProgram("large", "1.0.0", 8<<20)
	b.registry.Publish("acme/large", "1.0.0", large)
	b.publish("1.2.3")
	b.start()
	result := b.do(b.trusting(b.stack("large", run.OperationPlan, b.program(b.registry.Source("acme/large"), "1.0.0"))))
	if result.FailedStep != run.StepInit || result.Class != run.FailureDisk || !strings.Contains(result.Error, "no space left on device") {
		t.Errorf("%+v", result)
	}
	b.installed(b.wants("small", "1.2.3"))
	if list, err := providers.List(b.opts.ProviderStore); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

// registryProgram is an incompressible package of some size.
func registryProgram(name, version string, size int) map[string][]byte {
	content := make([]byte, size)
	_, _ = rand.Read(content) // it never fails
	return map[string][]byte{"terraform-provider-" + name + "_v" + version: content}
}

// If init does not accept what the store has, it installs providers in the stack's own way.
func TestInitMayRefuseAProviderOfTheStore(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	b.installed(b.wants("first", "~> 1.0"))
	program := filepath.Join(b.link("first", "1.2.3"), "terraform-provider-thing_v1.2.3")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("damaged"), 0o700); err != nil {
		t.Fatal(err)
	}
	second := b.wants("second", "~> 1.0")
	b.installed(second)
	logged(t, second, "Init: again, without the provider store")
	if link := b.link("second", "1.2.3"); link != "" {
		t.Errorf("it uses %s", link)
	}
}

// A failure of something else that is called a provider, here the state's key provider, is final.
func TestInitIsNotRepeatedForAnotherKindOfProvider(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	files := b.program(b.registry.Source(thing), "~> 1.0")
	files["main.tf"] += `terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "short"
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    state {
      method = method.aes_gcm.m
    }
  }
}
`
	r := b.trusting(b.stack("encrypted", run.OperationPlan, files))
	result := b.do(r)
	if result.FailedStep != run.StepInit || !strings.Contains(result.Error, "provider") {
		t.Fatalf("%+v", result)
	}
	if strings.Contains(string(r.log), "Init: again") {
		t.Errorf("init ran again:\n%s", r.log)
	}
}
