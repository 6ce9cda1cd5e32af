// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/blueprint"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// blueprints add the flags of each kind to its command.
var blueprints = map[string]func(cmd *cobra.Command, f *blueprint.Fields){
	session.GitRepositories.Plural: gitFields, session.OCIRepositories.Plural: ociFields, session.Buckets.Plural: bucketFields,
	session.ModuleSources.Plural: moduleFields, session.Kustomizations.Plural: kustomizationFields,
	session.Receivers.Plural: receiverFields, session.Providers.Plural: providerFields, session.Alerts.Plural: alertFields,
}

func newCreateKindCommand(a *session.App, k session.Kind) *cobra.Command {
	cmd := &cobra.Command{
		Use: k.Word + " NAME", Aliases: k.Aliases(),
		Short: "Create " + k.One(),
		Long: "Create " + k.One() + `. With --export the command writes the manifest to standard output instead, for git. For fields without a flag,
write a manifest and use "yuba kubectl apply -f".`,
	}
	f := blueprint.New(cmd)
	blueprints[k.Plural](cmd, f)
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	return blueprint.Command(a, cmd, k, f, out, func(_ context.Context, s *session.Session, object *unstructured.Unstructured) error {
		o, err := k.Object(object)
		switch {
		case err != nil:
			return err
		case out.Machine():
			return listing.ShowChanged(s, k, out, o)
		case !k.Fetched:
			s.News("%s is created.", o)
			return nil
		}
		s.News("%s is created. Wait until it is ready:\n    %s", o, k.Call("reconcile", s.Call(o.Key())))
		return nil
	})
}

func addSourceFields(cmd *cobra.Command, f *blueprint.Fields) {
	f.Duration("interval", "interval", time.Minute, "how often to fetch")
	f.Text("secret-ref", "secretRef.name", "", "the Secret with the credentials")
	ignore := cmd.Flags().StringSlice("ignore-paths", nil, "patterns of files to ignore, as in .gitignore")
	f.Func("ignore", func(string) (any, error) {
		if len(*ignore) == 0 {
			return nil, nil
		}
		return strings.Join(*ignore, "\n"), nil
	})
}

func gitFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create source git infra --url https://git.example.com/team/infra --branch main --secret-ref git\n" +
		"  yuba create source git infra --url ssh://git@git.example.com/team/infra --tag-semver \">=1.0.0\" --export > infra.yaml"
	f.Text("url", "url", "", "the repository's address (required)")
	f.Require("--url is missing: name the repository", "url")
	f.Text("branch", "ref.branch", "", "follow this branch (default master)")
	f.Text("tag", "ref.tag", "", "use this tag")
	f.Text("tag-semver", "ref.semver", "", "follow the highest version in this `range`")
	f.Text("commit", "ref.commit", "", "use this commit")
	f.Text("ref-name", "ref.name", "", "follow this ref, such as refs/pull/1/head")
	f.Switch("recurse-submodules", "recurseSubmodules", true, "fetch submodules as well")
	addSourceFields(cmd, f)
}

func ociFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create source oci network --url oci://registry.example.com/iac/network --tag-semver \"1.x\"\n" +
		"  yuba create source oci network --url oci://registry.example.com/iac/network --tag 1.4.0 --export > network.yaml"
	f.Text("url", "url", "", "the repository, as oci://HOST/REPOSITORY (required)")
	f.Require("--url is missing: name the repository", "url")
	f.Text("tag", "ref.tag", "", "follow this tag (default latest)")
	f.Text("tag-semver", "ref.semver", "", "follow the highest version in this `range`")
	f.Text("digest", "ref.digest", "", "use the artifact with this digest")
	f.Switch("insecure", "insecure", true, "allow a registry without TLS")
	addSourceFields(cmd, f)
}

func bucketFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create source bucket plans --bucket-name plans --endpoint s3.example.com --secret-ref s3"
	f.Text("bucket-name", "bucketName", "", "the bucket's name (required)")
	f.Text("endpoint", "endpoint", "", "the host of the store (required)")
	f.Require("--bucket-name and --endpoint are required", "bucket-name", "endpoint")
	f.Text("region", "region", "", "the bucket's region")
	f.Text("provider", "provider", "", "the kind of store: generic, aws, gcp, azure (default generic)")
	f.Text("prefix", "prefix", "", "fetch only objects below this path of the bucket")
	f.Switch("insecure", "insecure", true, "allow a store without TLS")
	addSourceFields(cmd, f)
	ui.Complete(cmd, "provider", "generic", "aws", "gcp", "azure")
}

func moduleFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create source module vpc --url https://git.example.com/team/vpc --module acme/vpc/aws\n" +
		"  yuba create source module modules --url ssh://git@git.example.com/team/modules --secret-ref git --module acme/dns/aws=modules/dns"
	f.Text("url", "url", "", "the repository's address (required)")
	modules := cmd.Flags().StringArray("module", nil, "a module to publish as NAMESPACE/NAME/SYSTEM, or NAMESPACE/NAME/SYSTEM=DIRECTORY in a repository of several (required)")
	f.Require("--url and --module are required", "url", "module")
	pattern := cmd.Flags().String("tag", "", "what the tags look like, such as release-{version} (default {version}, or DIRECTORY/{version})")
	versions := cmd.Flags().String("tag-semver", "", "publish only the versions in this `range`")
	stable := cmd.Flags().Bool("ignore-prereleases", false, "leave out pre-releases such as 1.2.0-rc1")
	f.Each("modules", modules, func(v string) (any, error) {
		name, dir, _ := strings.Cut(v, "=")
		module := map[string]any{"name": name}
		for field, value := range map[string]string{"path": dir, "tag": *pattern, "semver": *versions} {
			if value != "" {
				module[field] = value
			}
		}
		if *stable {
			module["ignorePrereleases"] = true
		}
		return module, nil
	})
	f.Duration("interval", "interval", 10*time.Minute, "how often to list the tags")
	f.Text("secret-ref", "secretRef.name", "", "the Secret with the credentials")
	f.Text("service-account", "serviceAccountName", "", "publish with the rights of this service account (default default)")
}

func kustomizationFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create kustomization apps --source GitRepository/infra --path ./apps --prune\n" +
		"  yuba create kustomization apps --source OCIRepository/manifests.base --depends-on base/network --wait --export > apps.yaml"
	f.Source()
	f.Text("path", "path", "./", "the directory in the source")
	f.Always("prune", false)
	f.Switch("prune", "prune", true, "delete applied objects that are no longer in the source")
	f.Switch("wait", "wait", true, "become ready only when all applied objects are ready")
	f.Duration("interval", "interval", time.Hour, "how often to apply, even without changes")
	f.Text("target-namespace", "targetNamespace", "", "apply all objects to this namespace")
	f.Text("service-account", "serviceAccountName", "", "apply with the rights of this service account")
	f.Dependencies("a Kustomization that must be ready first")
	secret := cmd.Flags().String("decryption-secret", "", "the Secret with the keys that SOPS needs")
	f.Func("decryption", func(string) (any, error) {
		if *secret == "" {
			return nil, nil
		}
		return map[string]any{"provider": "sops", "secretRef": map[string]any{"name": *secret}}, nil
	})
}

func receiverFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create receiver push --type github --event ping,push --secret-ref token --resource GitRepository/infra\n" +
		"  yuba create receiver push --type generic --secret-ref token --resource OCIRepository/network --export > push.yaml"
	senders := []string{"generic", "generic-hmac", "github", "gitlab", "gitea", "bitbucket", "dockerhub", "harbor"}
	f.Text("type", "type", "", "the kind of sender: "+strings.Join(senders, ", ")+" (required)")
	events := cmd.Flags().StringSlice("event", nil, "accept only these events")
	f.Text("secret-ref", "secretRef.name", "", "the Secret with the token of the sender (required)")
	resources := cmd.Flags().StringSlice("resource", nil, "an object to reconcile on each call, as KIND/NAME or KIND/NAME.NAMESPACE (required)")
	f.Require("--type, --secret-ref and --resource are required", "type", "secret-ref", "resource")
	f.Each("resources", resources, func(v string) (any, error) { return blueprint.Reference(cmd, "resource", v, receivable) })
	f.Each("events", events, func(v string) (any, error) { return v, nil })
	ui.Complete(cmd, "type", senders...)
}

func providerFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create alert-provider chat --type slack --channel infra --secret-ref slack\n" +
		"  yuba create alert-provider commits --type github --address https://github.com/team/infra --secret-ref token --export > commits.yaml"
	services := []string{"generic", "generic-hmac", "slack", "msteams", "discord", "matrix", "github", "gitlab", "gitea"}
	f.Text("type", "type", "", "the kind of service: "+strings.Join(services, ", ")+" (required)")
	f.Text("address", "address", "", "its address; put an address that contains a password or token into the Secret")
	f.Text("channel", "channel", "", "the channel to post to")
	f.Text("username", "username", "", "the name to post as")
	f.Text("secret-ref", "secretRef.name", "", "the Secret with the address or the token")
	const needed = "--type and one of --address and --secret-ref are required"
	f.Require(needed, "type")
	f.RequireOne(needed, "address", "secret-ref")
	ui.Complete(cmd, "type", services...)
}

func alertFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create alert failures --provider-ref chat --event-severity error --event-source Kustomization/*,Terraform/*"
	f.Text("provider-ref", "providerRef.name", "", "the alert provider to send to (required)")
	f.Text("event-severity", "eventSeverity", "", "info for all events, error for failures only (default info)")
	sources := cmd.Flags().StringSlice("event-source", nil, "an object whose events to send, as KIND/NAME or KIND/NAME.NAMESPACE; the name * means all (required)")
	f.Require("--provider-ref and --event-source are required", "provider-ref", "event-source")
	kinds := append(slices.Clone(receivable), session.CircuitBreakers.GVK.Kind)
	f.Each("eventSources", sources, func(v string) (any, error) { return blueprint.Reference(cmd, "event-source", v, kinds) })
	ui.Complete(cmd, "event-severity", "info", "error")
}

// receivable are the kinds that a Receiver can reconcile.
var receivable = []string{"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact", "ModuleSource", "Kustomization", "Terraform"}
