// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
)

func newServeCommand(a *session.App) *cobra.Command {
	o := server.ServeRegistryOptions{}
	var tokens, format, size string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the registry alone, without an API",
		Long: `Serve modules, providers and the mirror from a bucket with the layout of boring-registry, in the foreground, without the rest of
Yuba: no API, no stacks, no "yuba registry users". A file of tokens contains the rights to read and write.

The environment variables of boring-registry work as they do there (BORING_REGISTRY_STORAGE_…, _LISTEN_ADDRESS, _TLS_…,
_AUTH_STATIC_TOKEN, _NETWORK_MIRROR…, _JSON); flags win. As there, a registry that they configure serves plain HTTP without a
certificate, and lets everybody read without tokens. So its default address is 127.0.0.1:5601: set
BORING_REGISTRY_LISTEN_ADDRESS=:5601 for other machines. Variables about debug output, telemetry, signed URLs and
the login have no effect. The command refuses to start with variables that it does not know, such as those of OIDC.`,
		Example: "  yuba registry token create ci --write acme --file tokens\n  yuba registry serve --tokens tokens --address 0.0.0.0:443 --allow-non-loopback --host registry.example.com --tls-cert cert.pem --tls-key key.pem\n" +
			"  yuba registry serve --store 's3://modules?region=eu-central-1' --tokens tokens",
		Args: ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Store, "store", "", "the bucket, such as s3://BUCKET?region=REGION, gs://BUCKET or file:///DIR (default in the data directory)")
	flags.StringVar(&o.Address, "address", "127.0.0.1:7447", "listen address; with variables of boring-registry, 127.0.0.1:5601 is the default")
	flags.StringVar(&o.Host, "host", "", "the host in sources, with its port unless it is 443 (default that of the address)")
	flags.StringVar(&o.TLSCert, "tls-cert", "", "a file with the certificate (default one of an authority in the data directory)")
	flags.StringVar(&o.TLSKey, "tls-key", "", "a file with the certificate's key")
	flags.BoolVar(&o.Plain, "plain-http", false, "serve without TLS, behind a proxy that has it")
	flags.BoolVar(&o.AnonymousRead, "anonymous-read", false, "let everybody read without a token; the mirror, too, if --mirror-allow or --mirror-offline limits it")
	flags.BoolVar(&o.AllowNonLoopback, "allow-non-loopback", false, "allow listen addresses that other machines can reach")
	flags.StringVar(&tokens, "tokens", "", "a file of tokens, which \"yuba registry token create --file\" writes")
	flags.BoolVar(&o.NoMirror, "no-mirror", false, "serve no mirror of other registries' providers")
	flags.BoolVar(&o.MirrorOffline, "mirror-offline", false, "serve only providers that the mirror has")
	flags.StringSliceVar(&o.MirrorAllow, "mirror-allow", nil, "a pattern of providers that the mirror serves, such as registry.opentofu.org/hashicorp/* (default all); can be repeated")
	flags.StringSliceVar(&o.MirrorDeny, "mirror-deny", nil, "a pattern of providers that it does not serve; can be repeated")
	flags.StringVar(&size, "mirror-size", "", "size of the mirror above which archives are removed, those unused for longest first, such as 50Gi (default no limit)")
	flags.StringVar(&format, "log-format", "text", "the log's format: text or json")
	ui.Complete(cmd, "log-format", "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		boring, err := readBoring(os.LookupEnv, boringVariables())
		if err != nil {
			return ui.UsageErrorf(cmd, "%v", err)
		}
		boring.applyTo(&o, flags.Changed)
		if tokens != "" {
			if o.Grants, err = readTokens(tokens, o.Grants); err != nil {
				return err
			}
		}
		if len(o.Grants) == 0 && !o.AnonymousRead {
			return ui.UsageErrorf(cmd, "nobody could read this registry: want --tokens FILE or --anonymous-read")
		}
		if (o.TLSCert == "") != (o.TLSKey == "") || o.Plain && o.TLSCert != "" {
			return ui.UsageErrorf(cmd, "want --tls-cert and --tls-key, or --plain-http, or none of them")
		}
		if size != "" {
			limit, err := resource.ParseQuantity(size)
			if err != nil || limit.Value() <= 0 {
				return ui.UsageErrorf(cmd, "--mirror-size %s: want a size such as 50Gi", size)
			}
			o.MirrorBytes = limit.Value()
		}
		if boring.json && !flags.Changed("log-format") {
			format = "json"
		}
		var handler slog.Handler
		switch format {
		case "text":
			handler = slog.NewTextHandler(a.Err, nil)
		case "json":
			handler = slog.NewJSONHandler(a.Err, nil)
		default:
			return ui.UsageErrorf(cmd, "--log-format %q: want text or json", format)
		}
		o.Dir, o.Out, o.Log = a.DataDirectory(), a.Out, slog.New(handler)
		return server.ServeRegistry(cmd.Context(), o)
	}
	return cmd
}

func readTokens(path string, more []access.Grant) ([]access.Grant, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the file of tokens: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	grants, err := access.ReadGrants(f)
	if err != nil {
		return nil, fmt.Errorf("read the tokens in %s: %w", path, err)
	}
	return append(grants, more...), nil
}

// boringVariables are the names of the variables of boring-registry that are set.
func boringVariables() []string {
	var names []string
	for _, pair := range os.Environ() { //nolint:forbidigo // only names are read; no child process gets them
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, boringPrefix) {
			names = append(names, name)
		}
	}
	return names
}
