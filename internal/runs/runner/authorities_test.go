// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// bringing makes a run of a stack with the registry's certificate in a file.
func (b *storeBench) bringing(name, variable, value string, files ...run.File) *fakeRun {
	r := b.stack(name, run.OperationPlan, b.program(b.registry.Source(thing), "1.2.3"))
	r.spec.Env = append(r.spec.Env, run.EnvVar{Name: variable, Value: value}, run.EnvVar{Name: "TF_REGISTRY_DISCOVERY_RETRY", Value: "0"})
	r.spec.Files = files
	return r
}

// Nine stacks bring the certificate of a mirror's own authority, and download once.
func TestStacksThatBringTheSameAuthorityShareProviders(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	ca, err := os.ReadFile(b.ca)
	if err != nil {
		t.Fatal(err)
	}
	file := func(location run.FileLocation, path string) run.File {
		return run.File{Location: location, Path: path, Content: ca}
	}
	for i, c := range []struct {
		variable, value string
		file            run.File
	}{
		{"SSL_CERT_FILE", "ca.pem", file(run.FileInModule, "ca.pem")},
		{"SSL_CERT_FILE", "ca.pem", file(run.FileInModule, "ca.pem")},
		{"SSL_CERT_FILE", "./certs/mine.pem", file(run.FileInModule, "certs/mine.pem")},
		{"SSL_CERT_FILE", "ca.pem", file(run.FileInModule, "ca.pem")},
	} {
		r := b.bringing(fmt.Sprint("s", i), c.variable, c.value, c.file)
		result := b.installed(r)
		if result.Providers == nil || (result.Providers.Downloads == 1) != (i == 0) || !strings.HasPrefix(b.link(fmt.Sprint("s", i), "1.2.3"), b.opts.ProviderStore) {
			t.Errorf("%d: %+v\n%s", i, result.Providers, r.log)
		}
	}
	if got := b.registry.Counts(); got.Archives != 1 {
		t.Errorf("%+v", got)
	}
	list, err := providers.List(b.opts.ProviderStore)
	if err != nil || len(list) != 1 || list[0].Scope == "shared" {
		t.Errorf("%+v %v", list, err)
	}
}

func TestADirectoryOfAuthoritiesGoesWithTheDownload(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	ca, err := os.ReadFile(b.ca)
	if err != nil {
		t.Fatal(err)
	}
	r := b.bringing("directory", "SSL_CERT_DIR", "certs", run.File{Location: run.FileInModule, Path: "certs/a.pem", Content: ca})
	if result := b.installed(r); result.Providers == nil || result.Providers.Downloads != 1 {
		t.Errorf("%+v\n%s", result.Providers, r.log)
	}
}

// Stacks with another authority share nothing: whoever has the certificate decides what a mirror
// serves.
func TestStacksThatBringAnotherAuthorityShareNothing(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	ca, err := os.ReadFile(b.ca)
	if err != nil {
		t.Fatal(err)
	}
	file := func(content []byte) run.File {
		return run.File{Location: run.FileInModule, Path: "ca.pem", Content: content}
	}
	b.installed(b.bringing("one", "SSL_CERT_FILE", "ca.pem", file(ca)))
	other := b.bringing("two", "SSL_CERT_FILE", "ca.pem", file([]byte("# nobody\n")))
	if result := b.do(other); result.FailedStep != run.StepInit {
		t.Errorf("%+v", result)
	}
	more := b.installed(b.bringing("three", "SSL_CERT_FILE", "ca.pem", file(append(ca, "# the same and more\n"...))))
	if more.Providers == nil || more.Providers.Downloads != 1 {
		t.Errorf("%+v", more.Providers)
	}
}

// A stack that cannot use the store learns why.
func TestWhyAStackDoesWithoutTheStoreIsSaid(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	for name, r := range map[string]*fakeRun{
		"SSL_CERT_FILE=nowhere.pem cannot be read":                  b.bringing("missing", "SSL_CERT_FILE", "nowhere.pem"),
		"it is neither in the source nor in the home directory":     b.bringing("outside", "SSL_CERT_FILE", "../../workspace.json"),
		"the environment has TF_CLI_ARGS_init":                      b.bringing("arguments", "TF_CLI_ARGS_init", "-lockfile=readonly"),
		"the home directory has .terraform.d/credentials.tfrc.json": b.bringing("credentials", "A", "b", run.File{Location: run.FileInHome, Path: ".terraform.d/credentials.tfrc.json", Content: []byte("{}")}),
	} {
		b.do(r)
		if !strings.Contains(string(r.log), "for this stack alone: ") || !strings.Contains(string(r.log), name) {
			t.Errorf("%s: the log says\n%s", name, r.log)
		}
	}
}
