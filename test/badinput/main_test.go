// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package badinput

import (
	"flag"
	"os"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The flags of the suite; doc.go explains them.
var (
	mutantCount = flag.Int("mutants", 24, "how many programs are damaged at random")
	only        = flag.String("only", "", "how the names of the cases begin that are tried")
	seed        = flag.Uint64("seed", 1, "what the damage comes from")
)

// programs is the directory with the programs under test, installed side by side as for a user.
var programs string

func TestMain(m *testing.M) {
	os.Exit(tofutest.Main(cli.Main, func(dir string) int {
		programs = dir
		return m.Run()
	}))
}
