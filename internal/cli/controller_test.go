// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
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
