// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The storm's size. The defaults are the short form; `make chaos` asks for the long one.
var (
	seedFlag    = flag.Uint64("seed", 0, "what the storms are made from; 0 picks one and tells it")
	stacksFlag  = flag.Int("stacks", 12, "how many stacks the fleet has")
	killsFlag   = flag.Int("kills", 10, "how many kills of server or runner")
	appliesFlag = flag.Int("applies", 15, "how many changes to the fleet are applied at least")
	fellsFlag   = flag.Int("fells", 4, "how many kills of tofu or of everything at once")
	keepFlag    = flag.Bool("keep", false, "keep the directories, also of storms that did no harm")
	settleFlag  = flag.Duration("settle", 4*time.Minute, "how long everything may take to settle after a storm")
)

// programs is where the programs under test are installed, as a user would have them: side by side.
var programs string

func TestMain(m *testing.M) {
	// The test binary is the program when it is called by its name.
	if filepath.Base(os.Args[0]) == "yuba" {
		os.Exit(cli.Main())
	}
	flag.Parse()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "yuba-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	programs = dir
	if err := install(dir); err != nil {
		fmt.Fprintln(os.Stderr, "install the programs:", err)
		return 1
	}
	return m.Run()
}

func install(dir string) error {
	if err := tofutest.Install(dir); err != nil {
		return err
	}
	return buildProvider()
}

func providerMirror() string { return filepath.Join(programs, "providers") }

// buildProvider puts the provider of test/provider into the mirror.
func buildProvider() error {
	const version = "0.1.0"
	_, file, _, _ := runtime.Caller(0)
	program := filepath.Join(providerMirror(), "registry.opentofu.org", "yuba-dev", "yubatest", version,
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-yubatest_v"+version)
	build := exec.Command("go", "build", "-C", filepath.Join(filepath.Dir(file), "..", "provider"), "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=") //nolint:forbidigo // go needs its caches
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the test provider: %w\n%s", err, out)
	}
	return nil
}

// newSeed is the seed that was asked for, or any.
func newSeed(t *testing.T) uint64 {
	seed := *seedFlag
	for seed == 0 {
		seed = rand.Uint64() >> 33
	}
	t.Logf("the storm's seed is %d; to have it again:\n    make chaos CHAOSFLAGS='-run %s$ -args -seed %d -stacks %d -kills %d -applies %d -fells %d'",
		seed, t.Name(), seed, *stacksFlag, *killsFlag, *appliesFlag, *fellsFlag)
	return seed
}
