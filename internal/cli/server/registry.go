// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// addRegistryFlags adds the flags of the registry of modules and providers.
func addRegistryFlags(flags *pflag.FlagSet, o *server.RegistryOptions) {
	flags.StringVar(&o.Store, "registry-store", "", "the bucket of the registry, such as s3://BUCKET, in boring-registry's layout (default below registry/ in that of --blob-url, or in the data directory)")
	flags.StringVar(&o.Address, "registry-address", "127.0.0.1:7447", "listen address of the registry for laptops and CI, or \"off\"; stacks need none")
	flags.StringVar(&o.Host, "registry-host", "", "the registry's host in sources, with its port unless it is 443 (default that of its address)")
	flags.StringVar(&o.TLSCert, "registry-tls-cert", "", "a file with the registry's certificate (default one of Yuba's own authority)")
	flags.StringVar(&o.TLSKey, "registry-tls-key", "", "a file with that certificate's key")
	flags.BoolVar(&o.Plain, "registry-plain-http", false, "serve the registry without TLS, behind a proxy that has it")
	flags.BoolVar(&o.AnonymousRead, "registry-anonymous-read", false, "let everybody read the registry without a token; the mirror, too, if --registry-mirror-allow or --registry-mirror-offline limits it")
	flags.Bool("registry-mirror", true, "let runs get public providers from the registry's mirror; false lets them ask other registries themselves")
	flags.StringSliceVar(&o.MirrorAllow, "registry-mirror-allow", nil, "a pattern of providers that the registry's mirror serves, such as registry.opentofu.org/hashicorp/* (default all); can be repeated")
	flags.StringSliceVar(&o.MirrorDeny, "registry-mirror-deny", nil, "a pattern of providers that it does not serve; can be repeated")
	flags.BoolVar(&o.MirrorOffline, "registry-mirror-offline", false, "let the mirror serve only what it has, without asking other registries")
	flags.String("registry-mirror-size", "100Gi", "size of the mirror above which archives are removed, those unused for longest first")
}

func completeRegistry(cmd *cobra.Command, o *server.RegistryOptions) error {
	mirror, err := cmd.Flags().GetBool("registry-mirror")
	if err != nil {
		return err
	}
	o.RunsSkipMirror = !mirror
	o.MayBeBusy = !cmd.Flags().Changed("registry-address")
	if (o.TLSCert == "") != (o.TLSKey == "") || o.Plain && o.TLSCert != "" {
		return ui.UsageErrorf(cmd, "want --registry-tls-cert and --registry-tls-key, or --registry-plain-http, or none of them")
	}
	if o.Address != server.NoRegistryAddress {
		if _, _, err := net.SplitHostPort(o.Address); err != nil {
			return ui.UsageErrorf(cmd, "--registry-address %q: want HOST:PORT or %s", o.Address, server.NoRegistryAddress)
		}
	}
	// The tools take a host without a dot for a namespace.
	if o.Host != "" && (!strings.Contains(o.Host, ".") && !strings.HasPrefix(o.Host, "localhost:") || strings.ContainsAny(o.Host, "/@ ") || o.Host != strings.ToLower(o.Host)) {
		return ui.UsageErrorf(cmd, "--registry-host %q: want a name in lower case with a dot, and a port unless it is 443, such as registry.example.com", o.Host)
	}
	if text := cmd.Flag("registry-mirror-size").Value.String(); text != "" {
		size, err := resource.ParseQuantity(text)
		if err != nil || size.Value() <= 0 {
			return ui.UsageErrorf(cmd, "--registry-mirror-size %s: want a size such as 50Gi", text)
		}
		o.MirrorBytes = size.Value()
	}
	return nil
}
