// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/home/integrity"
	"github.com/yuba-dev/yuba/internal/kit/version"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	providerstore "github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/network"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// NewUpCommand is "yuba up".
func NewUpCommand(a *session.App) *cobra.Command {
	var o server.UpOptions
	cmd := &cobra.Command{
		Use: "up", SuggestFor: []string{"server", "serve", "start", "init"},
		Short: "Start Yuba with its embedded API",
		Long: `Start Yuba: the API, its store and its controllers in this one process, in the foreground. Everything is stored in the data
directory, including a kubeconfig that the other commands find automatically. Runs continue when the server stops; the next
start resumes them.

If a part of the data directory is lost, the command refuses to start with exit code 6, and changes nothing. The message names
the part and says how to recover.`,
		Example: "  yuba up\n  yuba up --data-dir /var/lib/yuba --log-format json\n  yuba up --api-address 0.0.0.0:7443 --allow-non-loopback",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	complete := addUpFlags(cmd, &o)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := complete(a, cmd); err != nil {
			return err
		}
		return server.Up(cmd.Context(), o)
	}
	return cmd
}

// addUpFlags adds the flags of "yuba up", and returns what checks them and sets the other options.
func addUpFlags(cmd *cobra.Command, o *server.UpOptions) (complete func(*session.App, *cobra.Command) error) {
	flags := cmd.Flags()
	flags.StringVar(&o.APIAddress, "api-address", "127.0.0.1:7443", "listen address of the API")
	flags.StringSliceVar(&o.APIHosts, "api-hosts", nil, "a name or address by which other machines reach the API, for its certificate, such as yuba.example.com; can be repeated")
	flags.StringVar(&o.HTTPAddress, "http-address", "127.0.0.1:7080", "listen address for the web page, webhooks and health probes")
	flags.BoolVar(&o.AllowNonLoopback, "allow-non-loopback", false, "allow listen addresses that other machines can reach")
	flags.StringSliceVar(&o.FileSources, "file-sources", nil, "a directory whose git repositories sources may read by file:// URLs (default none); can be repeated")
	flags.StringVar(&o.DefaultServiceAccount, "default-service-account", "", "service account of Kustomizations that do not name one (default all rights)")
	flags.StringToString("tenant-quota", nil, "maximum number of objects in a namespace that a Tenant created, if it has no ResourceQuota, such as secrets=500,count/terraforms.infra.contrib.fluxcd.io=50 (default unlimited)")
	var dev bool
	flags.BoolVar(&dev, "dev", false, "for experiments: allow git repositories and SQLite files below the working directory, and references across namespaces")
	flags.StringVar(&o.AuditLog, "audit-log", "", "a file for the audit log of changes and of reads of secrets, or \"-\" for standard output (default none)")
	flags.StringVar(&o.AuditPolicy, "audit-policy", "", "a file with an audit policy of Kubernetes (default Yuba's own)")
	flags.StringVar(&o.Bundle.Path, "bundle", "", "a bundle of \"yuba bundle create\": OpenTofu and providers come from it, and from nowhere else (default none)")
	flags.StringVar(&o.Bundle.Digest, "bundle-digest", "", "the digest that the bundle must have, as \"yuba bundle create\" printed it; its own signing keys are accepted then (default any)")
	flags.StringVar(&o.ServiceAccountIssuer, "service-account-issuer", "", "the URL at which clouds find the keys of service account tokens (spec.identityTokens), such as https://bucket.example.com/yuba")
	flags.StringVar(&o.AuthenticationConfig, "authentication-config", "", "a file with an AuthenticationConfiguration of Kubernetes, which names OIDC issuers whose tokens are accepted (default none)")
	flags.StringSlice("accept-loss", nil, "a lost part of the data directory to start without: objects, last-changes, blobs or credentials (default none); can be repeated")
	ui.Complete(cmd, "accept-loss", lossNames()...)
	addServerFlags(cmd, &o.Common)
	return func(a *session.App, cmd *cobra.Command) (err error) {
		if err := completeServer(a, cmd, &o.Common); err != nil {
			return err
		}
		if o.AcceptLoss, err = acceptedLosses(cmd); err != nil {
			return err
		}
		if o.TenantQuota, err = tenantQuota(cmd); err != nil {
			return err
		}
		if err := checkHosts(cmd, o.APIHosts); err != nil {
			return err
		}
		if o.AuditPolicy != "" && o.AuditLog == "" {
			return ui.UsageErrorf(cmd, "--audit-policy %s: want --audit-log FILE, too", o.AuditPolicy)
		}
		if o.Bundle.Digest != "" && o.Bundle.Path == "" {
			return ui.UsageErrorf(cmd, "--bundle-digest: want --bundle BUNDLE.tar, too")
		}
		if dev && o.AllowNonLoopback {
			return ui.UsageErrorf(cmd, "use --dev or --allow-non-loopback, not both: --dev is for one person on one machine")
		}
		if dev {
			if err := allowDev(&o.Common); err != nil {
				return err
			}
		}
		return nil
	}
}

// checkHosts checks --api-hosts. A certificate has neither URLs nor ports.
func checkHosts(cmd *cobra.Command, hosts []string) error {
	for _, host := range hosts {
		if net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
			return ui.UsageErrorf(cmd, "--api-hosts %q: want a name or an address without a port, such as yuba.example.com", host)
		}
	}
	return nil
}

// allowDev allows what is useful for one person on one machine, and unsafe on a shared server.
func allowDev(o *server.Common) error {
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("allow sources below the working directory (--dev): %w", err)
	}
	o.FileSources, o.SQLiteSources, o.AllowCrossNamespace = append(o.FileSources, here), append(o.SQLiteSources, here), true
	return nil
}

func lossNames() []string {
	names := make([]string, len(integrity.Losses))
	for i, loss := range integrity.Losses {
		names[i] = string(loss)
	}
	return names
}

func acceptedLosses(cmd *cobra.Command) ([]integrity.Loss, error) {
	values, err := cmd.Flags().GetStringSlice("accept-loss")
	if err != nil {
		return nil, err
	}
	var losses []integrity.Loss
	for _, value := range values {
		if !slices.Contains(integrity.Losses, integrity.Loss(value)) {
			return nil, ui.UsageErrorf(cmd, "--accept-loss %q: want %s", value, strings.Join(lossNames(), ", "))
		}
		losses = append(losses, integrity.Loss(value))
	}
	return losses, nil
}

// quotaResource matches the resources that a quota can count.
var quotaResource = regexp.MustCompile(`^(secrets|configmaps|resourcequotas|count/[a-z0-9.-]+)$`)

func tenantQuota(cmd *cobra.Command) (corev1.ResourceList, error) {
	values, err := cmd.Flags().GetStringToString("tenant-quota")
	if err != nil {
		return nil, err
	}
	hard := corev1.ResourceList{}
	for name, value := range values {
		number, err := resource.ParseQuantity(value)
		if err != nil || number.Sign() < 0 || number.MilliValue()%1000 != 0 || !quotaResource.MatchString(name) {
			return nil, ui.UsageErrorf(cmd, "--tenant-quota %s=%s: want a number of secrets, configmaps or count/RESOURCE.GROUP", name, value)
		}
		hard[corev1.ResourceName(name)] = number
	}
	return hard, nil
}

// addServerFlags adds the flags that "yuba up" and "yuba controller" share.
func addServerFlags(cmd *cobra.Command, o *server.Common) {
	flags := cmd.Flags()
	flags.StringVar(&o.Tofu, "tofu", "", "the tofu that runs use (default the one beside yuba, else on PATH, else the newest of the tools)")
	flags.StringVar(&o.Tools, "tools", "", "a directory with other versions of tofu and terraform, side by side (default DATA-DIR/tools)")
	flags.BoolVar(&o.FetchTofu, "fetch-tofu", true, "if no tofu is found, download OpenTofu "+opentofu.Pinned+" into the directory of tools and verify its signature")
	addToolFlags(flags, o)
	flags.StringVar(&o.ProviderMirror, "provider-mirror", "", "a filesystem mirror of providers (default DATA-DIR/providers)")
	flags.StringVar(&o.ProviderStore, "provider-store", "", "directory of the provider store, or \"off\" (default DATA-DIR/provider-store)")
	flags.String("provider-store-size", "16Gi", "maximum size of the provider store, beyond which unused providers are removed")
	flags.DurationVar(&o.ProviderStoreUnused, "provider-store-unused", providerstore.DefaultLimits().Unused, "how long the provider store keeps a provider that no stack uses")
	flags.StringVar(&o.BlobURL, "blob-url", "", "where to store archives, logs, plans and states, such as s3://BUCKET (default in the data directory)")
	addRegistryFlags(flags, &o.Registry)
	flags.StringVar(&o.CallHome.Address, "call-home-address", "", "listen address for new nodes of platforms, which hand over their kubeconfigs there (default none)")
	flags.StringVar(&o.CallHome.URL, "call-home-url", "", "how nodes reach it, such as https://yuba.example.com:7448 (default the address)")
	addWebFlags(flags, &o.Web)
	flags.IntVar(&o.Concurrency, "concurrency", 0, "maximum number of concurrent runs (default one for each core)")
	flags.IntVar(&o.NamespaceConcurrency, "namespace-concurrency", 0, "maximum number of concurrent runs of one namespace (default unlimited)")
	flags.StringSliceVar(&o.SQLiteSources, "sqlite-sources", nil, "a directory whose SQLite files tenant registries may read (default none); can be repeated")
	o.Circuits = circuits.DefaultOptions()
	flags.IntVar(&o.Circuits.Stacks, "outage-stacks", o.Circuits.Stacks, "how many stacks must fail for the same reason to open a circuit breaker; 0 for no number")
	flags.DurationVar(&o.Circuits.Window, "outage-window", o.Circuits.Window, "the time within which they must have started to fail")
	flags.Float64Var(&o.Circuits.Share, "outage-share", o.Circuits.Share, "the share of stacks with the same provider that must fail, from 0 to 1")
	flags.DurationVar(&o.RunTimeout, "run-timeout", 2*time.Hour, "maximum duration of one tofu process, after which it is interrupted")
	flags.BoolVar(&o.RequireConfinement, "require-confinement", false, "refuse to start if a wall of the confinement is missing; \"yuba version\" lists them")
	flags.StringVar(&o.RunNetwork, "run-network", run.HostNetwork, "the network of runs: host, isolated to reach only what --run-network-allow names, or none to block connections")
	flags.StringSliceVar(&o.RunNetworkAllow, "run-network-allow", nil, "a destination that isolated runs may reach, such as registry.opentofu.org:443, *.amazonaws.com:443, 10.0.0.0/8 or 127.0.0.1:5432; * for all but this machine and metadata services (default *); can be repeated")
	flags.UintSlice("run-listen", nil, "a port that programs of runs may listen on, beside those that the kernel chooses; can be repeated")
	addLimitFlags(cmd)
	flags.String("max-archive", "1Gi", "maximum size of a source archive")
	flags.StringVar(&o.WebhookCerts, "webhook-certs", "", "a directory with HOST/ca.crt, HOST/tls.crt and HOST/tls.key for the hosts of webhooks")
	flags.StringSliceVar(&o.ContractStoreEndpoints, "contract-store-endpoints", nil, "a server HOST:PORT on this machine or in a private network that ContractBridges and SecretStores may use, such as vault.example.internal:8200 (default only servers with public addresses); can be repeated")
	flags.BoolVar(&o.AllowCrossNamespace, "allow-cross-namespace", false, "allow references to objects of other namespaces: sources, dependencies, and the objects of alerts and receivers")
	flags.StringSliceVar(&o.SourceIdentities, "source-identities", nil, "clouds (aws, gcp, azure) whose identity of this server sources with that spec.provider and without a Secret may use (default none)")
	flags.StringSliceVar(&o.TenantEnvPrefixes, "tenant-env-prefixes", nil, "prefixes of the environment variables that inline programs of tenants get from varsFrom (default those of providers, such as AWS_, ARM_, GOOGLE_ and PG)")
	flags.StringVar(&o.MetricsAddress, "metrics-address", "", "listen address for metrics without authentication, such as 127.0.0.1:7090 (default none; the API serves them to authorized users)")
	flags.BoolVar(&o.MetricsPerObject, "metrics-per-object", false, "also serve the metrics of each object")
	keep := server.DefaultRetention()
	flags.IntVar(&o.Retention.Runs, "keep-runs", keep.Runs, "how many runs of a stack to keep, with their logs and plans; 0 for all")
	flags.DurationVar(&o.Retention.RunAge, "keep-run-age", keep.RunAge, "how long to keep a run; 0 for ever")
	flags.IntVar(&o.Retention.States, "keep-states", keep.States, "how many versions of a state to keep; 0 for all")
	flags.DurationVar(&o.Retention.StateAge, "keep-state-age", keep.StateAge, "how long to keep a version of a state after it was replaced; 0 for ever")
	flags.StringVar(&o.LogFormat, "log-format", "text", "the log's format: text or json")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "log more")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "print only that the server is ready, and its endpoints; the log continues")
	ui.Complete(cmd, "log-format", "text", "json")
	ui.Complete(cmd, "run-network", run.HostNetwork, run.IsolatedNetwork, run.NoNetwork)
	ui.Complete(cmd, "source-identities", server.SourceIdentities...)
}

// checkStoreEndpoints checks --contract-store-endpoints. They are compared with what is connected to.
func checkStoreEndpoints(cmd *cobra.Command, endpoints []string) error {
	for _, endpoint := range endpoints {
		host, port, err := net.SplitHostPort(endpoint)
		if number, wrong := strconv.ParseUint(port, 10, 16); err != nil || host == "" || wrong != nil || number == 0 || strings.ContainsAny(host, "/@* ") || strings.ToLower(host) != host {
			return ui.UsageErrorf(cmd, "--contract-store-endpoints %q: want HOST:PORT in lower case, such as vault.example.internal:8200", endpoint)
		}
	}
	return nil
}

// completeServer checks the flags and sets the other options.
func completeServer(a *session.App, cmd *cobra.Command, o *server.Common) error {
	if o.Concurrency < 0 {
		return ui.UsageErrorf(cmd, "--concurrency %d: want a number above 0", o.Concurrency)
	}
	if err := checkStoreEndpoints(cmd, o.ContractStoreEndpoints); err != nil {
		return err
	}
	if o.NamespaceConcurrency < 0 {
		return ui.UsageErrorf(cmd, "--namespace-concurrency %d: want a number above 0", o.NamespaceConcurrency)
	}
	if r := o.Retention; r.Runs < 0 || r.RunAge < 0 || r.States < 0 || r.StateAge < 0 {
		return ui.UsageErrorf(cmd, "--keep-runs %d, --keep-run-age %s, --keep-states %d, --keep-state-age %s: none may be below 0", r.Runs, r.RunAge, r.States, r.StateAge)
	}
	size, err := resource.ParseQuantity(cmd.Flag("max-archive").Value.String())
	if err != nil || size.Value() <= 0 {
		return ui.UsageErrorf(cmd, "--max-archive %s: want a size such as 512Mi or 2Gi", cmd.Flag("max-archive").Value)
	}
	if c := o.Circuits; c.Stacks < 0 || c.Window <= 0 || c.Share < 0 || c.Share > 1 {
		return ui.UsageErrorf(cmd, "--outage-stacks %d --outage-window %s --outage-share %g: want a number that is not negative, a time above 0, and a share from 0 to 1", c.Stacks, c.Window, c.Share)
	}
	store, err := resource.ParseQuantity(cmd.Flag("provider-store-size").Value.String())
	if err != nil || store.Value() <= 0 || o.ProviderStoreUnused <= 0 {
		return ui.UsageErrorf(cmd, "--provider-store-size %s --provider-store-unused %s: want a size such as 16Gi and a time above 0", cmd.Flag("provider-store-size").Value, o.ProviderStoreUnused)
	}
	o.ProviderStoreBytes = store.Value()
	if err := server.CheckSourceIdentities(o.SourceIdentities); err != nil {
		return ui.UsageErrorf(cmd, "%v", err)
	}
	if err := completeEnvPrefixes(cmd, o); err != nil {
		return err
	}
	if o.Web.SessionLifetime <= 0 {
		return ui.UsageErrorf(cmd, "--web-session %s: want a time above 0, such as 12h", o.Web.SessionLifetime)
	}
	if err := completeNetwork(cmd, o); err != nil {
		return err
	}
	if err := completeLimits(cmd, o); err != nil {
		return err
	}
	if o.RunTimeout <= 0 {
		return ui.UsageErrorf(cmd, "--run-timeout %s: want a time above 0, such as 6h", o.RunTimeout)
	}
	o.MaxArchive = size.Value()
	if err := completeTools(cmd, o); err != nil {
		return err
	}
	if err := o.CallHome.Check(); err != nil {
		return ui.UsageErrorf(cmd, "%v", err)
	}
	if err := completeRegistry(cmd, &o.Registry); err != nil {
		return err
	}
	log, err := logger(a, cmd, o.LogFormat, o.Verbose)
	if err != nil {
		return err
	}
	o.DataDir, o.Version, o.Log, o.Out, o.News = a.DataDirectory(), version.String(), log, a.Out, a.Err
	return nil
}

func completeNetwork(cmd *cobra.Command, o *server.Common) error {
	switch o.RunNetwork {
	case run.HostNetwork, run.NoNetwork:
		if len(o.RunNetworkAllow) > 0 {
			return ui.UsageErrorf(cmd, "--run-network-allow needs --run-network %s", run.IsolatedNetwork)
		}
	case run.IsolatedNetwork:
		if len(o.RunNetworkAllow) == 0 {
			o.RunNetworkAllow = []string{network.Everything}
		}
		if _, err := network.ParseList(o.RunNetworkAllow); err != nil {
			return ui.UsageErrorf(cmd, "--run-network-allow %s", err)
		}
	default:
		return ui.UsageErrorf(cmd, "--run-network %s: want %s, %s or %s", o.RunNetwork, run.HostNetwork, run.IsolatedNetwork, run.NoNetwork)
	}
	ports, err := cmd.Flags().GetUintSlice("run-listen")
	if err != nil {
		return err
	}
	for _, port := range ports {
		if port < 1 || port > 65535 {
			return ui.UsageErrorf(cmd, "--run-listen %d: want a port from 1 to 65535", port)
		}
		o.RunListen = append(o.RunListen, uint16(port))
	}
	return nil
}

// envPrefix matches prefixes of environment variables. An empty prefix would match all.
var envPrefix = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// completeEnvPrefixes sets the default prefixes, unless the flag names others, or none.
func completeEnvPrefixes(cmd *cobra.Command, o *server.Common) error {
	if !cmd.Flags().Changed("tenant-env-prefixes") {
		o.TenantEnvPrefixes = inputs.DefaultEnvPrefixes()
		return nil
	}
	for _, prefix := range o.TenantEnvPrefixes {
		if !envPrefix.MatchString(prefix) {
			return ui.UsageErrorf(cmd, "--tenant-env-prefixes: %q is not a valid prefix; want letters, digits and underscores, such as AWS_", prefix)
		}
	}
	return nil
}

// logger writes to standard error, and is also the default logger.
func logger(a *session.App, cmd *cobra.Command, format string, verbose bool) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose {
		options.Level = slog.LevelDebug
	}
	var handler slog.Handler
	switch format {
	case "text":
		handler = slog.NewTextHandler(a.Err, options)
	case "json":
		handler = slog.NewJSONHandler(a.Err, options)
	default:
		return nil, ui.UsageErrorf(cmd, "--log-format %q: want text or json", format)
	}
	log := slog.New(handler)
	slog.SetDefault(log)
	return log, nil
}
