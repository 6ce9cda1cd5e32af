// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/providers"
)

// Options configure a runner.
type Options struct {
	// Dir is the runner's own directory: its lock, the server's address, the spool.
	Dir string
	// WorkRoot holds the stacks' working directories.
	WorkRoot string
	// ProviderMirror is a filesystem mirror of providers that tofu asks first; it need not exist.
	ProviderMirror string
	// ProviderStore keeps downloaded providers for all stacks; empty for none.
	ProviderStore string
	// ProviderUnused is how long unused providers are kept, ProviderBytes the store's size beyond
	// which they go earlier; 0 for the defaults of package providers.
	ProviderUnused time.Duration
	ProviderBytes  int64
	// Tofu is the program to run, Sandbox the yuba-sandbox that confines it.
	Tofu    string
	Sandbox string
	// Tools is a directory with other versions of the tool, side by side; it need not exist.
	Tools string
	// Capacity is how many runs execute at once; 0 means 2.
	Capacity int
	// RequireConfinement refuses to run where confinement is incomplete.
	RequireConfinement bool
	Log                *slog.Logger
	Version            string
	// Build identifies the server's build; every poll reports it.
	Build string

	// Server is the server's URL, CA the certificates in PEM that it is verified by, and TokenFile
	// has the runner's credential. Without Server, all three come from the connection file.
	Server, CA, TokenFile string
	// Pod says that the runner has a Pod for itself: it executes one run at a time, and the end of
	// the Pod also ends applies. Once makes it exit after one run.
	Pod, Once bool
	// Show are more files and directories that programs may read and execute, such as mounted
	// volumes.
	Show []string

	// ServerGone is how long an idle runner waits for an unreachable server; 0 means 60 s.
	ServerGone time.Duration
	// MinFree is the free space in bytes that an apply needs in Dir and WorkRoot; 0 means 64 MiB.
	MinFree int64
	// Reserve is the disk space in bytes that runs leave to the server: below it no run begins, and
	// a run that fills the disk ends. 0 means 2 %, at most 1 GiB; negative means none.
	Reserve int64
}

// AddFlags makes the options flags of a program.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.Dir, "dir", "", "the runner's directory")
	flags.StringVar(&o.WorkRoot, "work", "", "the directory of working directories")
	flags.StringVar(&o.ProviderMirror, "provider-mirror", "", "a filesystem mirror of providers")
	flags.StringVar(&o.ProviderStore, "provider-store", "", "the directory that downloaded providers are kept in for all stacks; empty for none")
	flags.DurationVar(&o.ProviderUnused, "provider-store-unused", 0, "how long a provider is kept that no stack uses")
	flags.Int64Var(&o.ProviderBytes, "provider-store-bytes", 0, "how large the store may be before providers that no stack uses go earlier")
	flags.StringVar(&o.Tofu, "tofu", "", "the tofu that runs use")
	flags.StringVar(&o.Tools, "tools", "", "a directory with other versions of the tool, side by side")
	flags.StringVar(&o.Sandbox, "sandbox", "", "the yuba-sandbox that confines it")
	flags.BoolVar(&o.RequireConfinement, "require-confinement", false, "refuse to start where confinement is incomplete")
	flags.IntVar(&o.Capacity, "capacity", 0, "how many runs are carried out at a time")
	flags.StringVar(&o.Server, "server", "", "the server's URL, in a Pod; $YUBA_SERVER_CA has its certificates")
	flags.StringVar(&o.TokenFile, "token-file", "", "the file with the runner's credential, in a Pod")
	flags.BoolVar(&o.Pod, "pod", false, "execute one run at a time, and end applies when the Pod ends")
	flags.BoolVar(&o.Once, "once", false, "exit after one run, in a Pod")
	flags.Func("show", "a further file or directory that programs may read and execute; may be repeated", func(path string) error {
		o.Show = append(o.Show, path)
		return nil
	})
	flags.StringVar(&o.Build, "build", "", "the server's mark of what it starts")
}

// errMissing means that the runner was started manually, without a required flag.
var errMissing = errors.New("it is missing; \"yuba up\" starts the runner automatically")

// WithDefaults checks the options and sets defaults.
func (o Options) WithDefaults() (Options, error) {
	if o.Capacity <= 0 {
		o.Capacity = 2
	}
	if o.Pod {
		o.Capacity = 1
	}
	if o.ServerGone <= 0 {
		o.ServerGone = time.Minute
	}
	if o.MinFree <= 0 {
		o.MinFree = 64 << 20
	}
	limits := providers.DefaultLimits()
	o.ProviderUnused, o.ProviderBytes = cmp.Or(o.ProviderUnused, limits.Unused), cmp.Or(o.ProviderBytes, limits.Bytes)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	for name, path := range map[string]*string{"dir": &o.Dir, "work": &o.WorkRoot, "tofu": &o.Tofu, "sandbox": &o.Sandbox} {
		if *path == "" {
			return o, fmt.Errorf("start the runner: --%s: %w", name, errMissing)
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, fmt.Errorf("start the runner: %w", err)
		}
		*path = absolute
	}
	for _, path := range []*string{&o.ProviderMirror, &o.ProviderStore, &o.Tools} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, fmt.Errorf("start the runner: %w", err)
		}
		*path = absolute
	}
	return o, nil
}
