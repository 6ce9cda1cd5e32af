// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheControllersDoNotHoldThemselvesBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, file, "cluster")
	a := &App{kubeconfig: file}
	config, _, err := a.ClusterConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://cluster" || config.QPS >= 0 {
		t.Errorf("they ask %s, at most %v times a second", config.Host, config.QPS)
	}
}

// The kubeconfig of "yuba up" is no cluster's: where one was looked for is said as it is.
func TestWithoutAClusterItIsSaidWhereOneWasLookedFor(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "yuba", "kubeconfig")
	writeKubeconfig(t, home, "home")
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	t.Setenv("YUBA_DATA_DIR", "")
	t.Setenv("XDG_DATA_HOME", dir)
	a := &App{}
	_, _, err := a.ClusterConfig()
	text := fmt.Sprint(err)
	if !strings.HasPrefix(text, "no kubeconfig found") || strings.Contains(text, "in the data directory") || !strings.HasSuffix(text, "--kubeconfig "+home) {
		t.Error(text)
	}
}
