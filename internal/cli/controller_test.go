// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheControllersDoNotHoldThemselvesBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, file, "cluster")
	a := &app{kubeconfig: file}
	config, err := a.controllerConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://cluster" || config.QPS >= 0 {
		t.Errorf("they ask %s, at most %v times a second", config.Host, config.QPS)
	}
}

// The kubeconfig of "yuba up" is no cluster's: where one was looked for is said as it is, for adopt and controller alike.
func TestWithoutAClusterItIsSaidWhereOneWasLookedFor(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "yuba", "kubeconfig")
	writeKubeconfig(t, home, "home")
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	t.Setenv("YUBA_DATA_DIR", "")
	t.Setenv("XDG_DATA_HOME", dir)
	a := &app{}
	_, controllers := a.controllerConfig()
	_, adoption := a.adoption(t.Context(), true)
	for _, err := range []error{controllers, adoption} {
		text := fmt.Sprint(err)
		if !strings.HasPrefix(text, "no cluster is known here") || strings.Contains(text, "in the data directory") || !strings.HasSuffix(text, "--kubeconfig "+home) {
			t.Error(text)
		}
	}
}
