// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// specMaker adds the flags of a kind to a command, and returns what makes a spec of them.
type specMaker func(cmd *cobra.Command) func(cmd *cobra.Command, namespace string) (map[string]any, error)

var specMakers = map[string]specMaker{
	session.GitRepositories.Plural: gitSpec, session.OCIRepositories.Plural: ociSpec, session.Buckets.Plural: bucketSpec, session.Kustomizations.Plural: kustomizationSpec,
	session.Receivers.Plural: receiverSpec, session.Providers.Plural: providerSpec, session.Alerts.Plural: alertSpec,
}

// newCreateKindCommand creates an object from flags.
func newCreateKindCommand(a *session.App, k session.Kind) *cobra.Command {
	var export bool
	cmd := &cobra.Command{
		Use: k.Word + " NAME", Aliases: k.Aliases(),
		Short: "Create " + k.One(),
		Long: "Create " + k.One() + `. With --export the command writes the manifest to standard output instead, for git. For fields without a flag,
write a manifest and use "yuba kubectl apply -f".`,
		Args: ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	spec := specMakers[k.Plural](cmd)
	cmd.Flags().BoolVar(&export, "export", false, "write the manifest to standard output and create nothing")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(cmd); err != nil {
			return err
		}
		if export && out.Form == "name" {
			return ui.UsageErrorf(cmd, "-o name: --export writes json or yaml")
		}
		key, s, err := creation(a, cmd, k, args[0], export)
		if err != nil {
			return err
		}
		fields, err := spec(cmd, key.Namespace)
		if err != nil {
			return err
		}
		raw := k.Empty()
		raw.SetNamespace(key.Namespace)
		raw.SetName(key.Name)
		raw.Object["spec"] = fields
		if export {
			return (&ui.Output{Form: cmp.Or(out.Form, "yaml")}).Print(a.Out, raw.Object)
		}
		return createObject(cmd.Context(), s, k, raw, out)
	}
	return cmd
}

// creation reads the name of what is to be created. Where it is only written, no server need be known.
func creation(a *session.App, cmd *cobra.Command, k session.Kind, name string, export bool) (types.NamespacedName, *session.Session, error) {
	open := a.Connect
	if export {
		open = a.Unconnected
	}
	s, err := open()
	if err != nil {
		return types.NamespacedName{}, nil, err
	}
	keys, err := s.Keys(cmd, k, []string{name})
	if err != nil {
		return types.NamespacedName{}, nil, err
	}
	if problems := validation.IsDNS1123Subdomain(keys[0].Name); len(problems) > 0 {
		return types.NamespacedName{}, nil, ui.UsageErrorf(cmd, "%s: %s", keys[0].Name, problems[0])
	}
	return keys[0], s, nil
}

func createObject(ctx context.Context, s *session.Session, k session.Kind, raw *unstructured.Unstructured, out *ui.Output) error {
	err := s.Objects.Create(ctx, raw, session.FieldOwner)
	key := types.NamespacedName{Namespace: raw.GetNamespace(), Name: raw.GetName()}
	switch {
	case apierrors.IsAlreadyExists(err):
		return ui.Exitf(ui.ExitFailure, "create %s %s: it exists already. Change it:\n    yuba kubectl edit %s %s -n %s", k.GVK.Kind, key, k.Plural, key.Name, key.Namespace)
	case apierrors.IsNotFound(err):
		return s.ObjectError("create", k, key, fmt.Errorf("%w. Does the namespace exist? Create it:\n    yuba kubectl create namespace %s", err, key.Namespace))
	case err != nil:
		return s.ObjectError("create", k, key, err)
	}
	o, err := k.Object(raw)
	if err != nil {
		return err
	}
	if out.Machine() {
		return listing.ShowObjects(s, out, o)
	}
	if !k.Fetched {
		s.News("%s is created.", o)
		return nil
	}
	s.News("%s is created. Wait until it is ready:\n    %s", o, k.Call("reconcile", s.Call(key)))
	return nil
}

// setFields sets those fields that have a value; a name with dots leads to a field of a field.
func setFields(spec map[string]any, fields map[string]string) {
	for path, value := range fields {
		if value == "" {
			continue
		}
		at, names := spec, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			inner, ok := at[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		at[names[len(names)-1]] = value
	}
}

// sourceFlags are those that all sources have.
type sourceFlags struct {
	secret   string
	interval time.Duration
	ignore   []string
	insecure bool
}

func (f *sourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.interval, "interval", time.Minute, "how often to fetch")
	flags.StringVar(&f.secret, "secret-ref", "", "the Secret with the credentials")
	flags.StringSliceVar(&f.ignore, "ignore-paths", nil, "patterns of files to ignore, as in .gitignore")
}

func (f *sourceFlags) spec(fields map[string]string) map[string]any {
	spec := map[string]any{"interval": f.interval.String()}
	if f.insecure {
		spec["insecure"] = true
	}
	setFields(spec, fields)
	setFields(spec, map[string]string{"secretRef.name": f.secret, "ignore": strings.Join(f.ignore, "\n")})
	return spec
}

func gitSpec(cmd *cobra.Command) func(*cobra.Command, string) (map[string]any, error) {
	var f sourceFlags
	var url, branch, tag, semver, commit, ref string
	var submodules bool
	cmd.Example = "  yuba create source git infra --url https://git.example.com/team/infra --branch main --secret-ref git\n" +
		"  yuba create source git infra --url ssh://git@git.example.com/team/infra --tag-semver \">=1.0.0\" --export > infra.yaml"
	flags := cmd.Flags()
	flags.StringVar(&url, "url", "", "the repository's address (required)")
	flags.StringVar(&branch, "branch", "", "follow this branch (default master)")
	flags.StringVar(&tag, "tag", "", "use this tag")
	flags.StringVar(&semver, "tag-semver", "", "follow the highest version in this `range`")
	flags.StringVar(&commit, "commit", "", "use this commit")
	flags.StringVar(&ref, "ref-name", "", "follow this ref, such as refs/pull/1/head")
	flags.BoolVar(&submodules, "recurse-submodules", false, "fetch submodules as well")
	f.add(cmd)
	return func(cmd *cobra.Command, _ string) (map[string]any, error) {
		if url == "" {
			return nil, ui.UsageErrorf(cmd, "--url is missing: name the repository")
		}
		spec := f.spec(map[string]string{"url": url, "ref.branch": branch, "ref.tag": tag, "ref.semver": semver, "ref.commit": commit, "ref.name": ref})
		if submodules {
			spec["recurseSubmodules"] = true
		}
		return spec, nil
	}
}

func ociSpec(cmd *cobra.Command) func(*cobra.Command, string) (map[string]any, error) {
	var f sourceFlags
	var url, tag, semver, digest string
	cmd.Example = "  yuba create source oci network --url oci://registry.example.com/iac/network --tag-semver \"1.x\"\n" +
		"  yuba create source oci network --url oci://registry.example.com/iac/network --tag 1.4.0 --export > network.yaml"
	flags := cmd.Flags()
	flags.StringVar(&url, "url", "", "the repository, as oci://HOST/REPOSITORY (required)")
	flags.StringVar(&tag, "tag", "", "follow this tag (default latest)")
	flags.StringVar(&semver, "tag-semver", "", "follow the highest version in this `range`")
	flags.StringVar(&digest, "digest", "", "use the artifact with this digest")
	flags.BoolVar(&f.insecure, "insecure", false, "allow a registry without TLS")
	f.add(cmd)
	return func(cmd *cobra.Command, _ string) (map[string]any, error) {
		if url == "" {
			return nil, ui.UsageErrorf(cmd, "--url is missing: name the repository")
		}
		return f.spec(map[string]string{"url": url, "ref.tag": tag, "ref.semver": semver, "ref.digest": digest}), nil
	}
}

func bucketSpec(cmd *cobra.Command) func(*cobra.Command, string) (map[string]any, error) {
	var f sourceFlags
	var name, endpoint, region, provider, prefix string
	cmd.Example = "  yuba create source bucket plans --bucket-name plans --endpoint s3.example.com --secret-ref s3"
	flags := cmd.Flags()
	flags.StringVar(&name, "bucket-name", "", "the bucket's name (required)")
	flags.StringVar(&endpoint, "endpoint", "", "the host of the store (required)")
	flags.StringVar(&region, "region", "", "the bucket's region")
	flags.StringVar(&provider, "provider", "", "the kind of store: generic, aws, gcp, azure (default generic)")
	flags.StringVar(&prefix, "prefix", "", "fetch only objects below this path of the bucket")
	flags.BoolVar(&f.insecure, "insecure", false, "allow a store without TLS")
	f.add(cmd)
	ui.Complete(cmd, "provider", "generic", "aws", "gcp", "azure")
	return func(cmd *cobra.Command, _ string) (map[string]any, error) {
		if name == "" || endpoint == "" {
			return nil, ui.UsageErrorf(cmd, "--bucket-name and --endpoint are required")
		}
		return f.spec(map[string]string{"bucketName": name, "endpoint": endpoint, "region": region, "provider": provider, "prefix": prefix}), nil
	}
}

func kustomizationSpec(cmd *cobra.Command) func(*cobra.Command, string) (map[string]any, error) {
	var source, path, target, account, decryption string
	var dependsOn []string
	var prune, wait bool
	var interval time.Duration
	cmd.Example = "  yuba create kustomization apps --source GitRepository/infra --path ./apps --prune\n" +
		"  yuba create kustomization apps --source OCIRepository/manifests.base --depends-on base/network --wait --export > apps.yaml"
	flags := cmd.Flags()
	flags.StringVar(&source, "source", "", "the source as KIND/NAME, or KIND/NAME.NAMESPACE (required)")
	flags.StringVar(&path, "path", "./", "the directory in the source")
	flags.BoolVar(&prune, "prune", false, "delete applied objects that are no longer in the source")
	flags.BoolVar(&wait, "wait", false, "become ready only when all applied objects are ready")
	flags.DurationVar(&interval, "interval", time.Hour, "how often to apply, even without changes")
	flags.StringVar(&target, "target-namespace", "", "apply all objects to this namespace")
	flags.StringVar(&account, "service-account", "", "apply with the rights of this service account")
	flags.StringVar(&decryption, "decryption-secret", "", "the Secret with the keys that SOPS needs")
	flags.StringArrayVar(&dependsOn, "depends-on", nil, "a Kustomization that must be ready first, as NAME or NAMESPACE/NAME")
	return func(cmd *cobra.Command, namespace string) (map[string]any, error) {
		ref, err := session.SourceRef(cmd, source, namespace)
		if err != nil {
			return nil, err
		}
		needed, err := session.Dependencies(cmd, dependsOn)
		if err != nil {
			return nil, err
		}
		spec := map[string]any{"interval": interval.String(), "sourceRef": ref, "prune": prune}
		if wait {
			spec["wait"] = true
		}
		setFields(spec, map[string]string{"path": path, "targetNamespace": target, "serviceAccountName": account, "decryption.secretRef.name": decryption})
		if decryption != "" {
			setFields(spec, map[string]string{"decryption.provider": "sops"})
		}
		if needed != nil {
			spec["dependsOn"] = needed
		}
		return spec, nil
	}
}
