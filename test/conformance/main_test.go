// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"

	yuba "github.com/yuba-dev/yuba/internal/cli"
)

// The flags of the suite; doc.go explains them.
var (
	serveAddress = flag.String("serve", "127.0.0.1:0", "where the suite serves sources and services to the controller")
	serveURL     = flag.String("serve-url", "", "the URL at which the controller reaches -serve (default http://ADDRESS)")
	patience     = flag.Duration("patience", 2*time.Minute, "how long anything may take that should take a second or two")
)

// givenKubeconfig selects another API and controller to test. Controller-runtime has already
// defined a flag of that name.
func givenKubeconfig() string { return flag.Lookup("kubeconfig").Value.String() }

// The names under which the test binary acts as a program under test.
const (
	yubaProgram      = "yuba"
	apiServerProgram = "kube-apiserver"
)

// programs is the directory with the programs under test, installed side by side as for a user.
var programs string

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case yubaProgram:
		os.Exit(yuba.Main())
	case apiServerProgram:
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	}
	flag.Parse()
	sideBySide()
	os.Exit(testMain(m))
}

// sideBySide runs more cases than there are processors at the same time, unless -parallel is set:
// they mostly wait.
func sideBySide() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "yuba-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	programs = dir
	return m.Run()
}
