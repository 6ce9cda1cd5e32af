// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestEtcdsClientIsQuietBeforeTheAPIServerMakesItsLogger(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(executable, "-test.run=^$")
	command.Env = append(os.Environ(), "GODEBUG=inittrace=1", childDirectory+"=/dev/null/not-a-directory")
	trace, _ := command.CombinedOutput()
	quiet := strings.Index(string(trace), "init github.com/yuba-dev/yuba/internal/home/etcd/quiet ")
	factory := strings.Index(string(trace), "init k8s.io/apiserver/pkg/storage/storagebackend/factory ")
	if quiet < 0 || factory < 0 || quiet > factory {
		t.Errorf("quiet is initialised at %d, the API server's client factory at %d", quiet, factory)
	}
}
