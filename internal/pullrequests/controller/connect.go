// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// link is a GitRepository with its connection.
type link struct {
	// name is that of the GitRepository, with its namespace if that is another one.
	name       string
	source     *sourcev1.GitRepository
	forge      forge.Forge
	repository forge.Repository
	// identity names the repository for policies.
	identity string
	// config identifies what the connection was made of.
	config string
	rules  decide.Rules
	// planner is that of the present pass.
	planner *yubav1.PullRequestPlanner
	// polled is when all its pull requests were asked for, hooked whether the forge sends hooks about it.
	polled time.Time
	hooked bool
	// pushed says that the forge has announced a push to the branch that the GitRepository follows.
	pushed bool
	// owners is the CODEOWNERS that was read last, if it is that of a commit.
	owners ownersFile
	// until is when the forge may be asked again.
	until time.Time
}

// configError means that a person must change the planner, or what it names.
type configError struct{ reason, message string }

func (e *configError) Error() string { return e.message }

// sources lists the GitRepositories of a planner.
func (r *Reconciler) sources(ctx context.Context, o *yubav1.PullRequestPlanner) ([]*sourcev1.GitRepository, error) {
	if len(o.Spec.Stacks) > 0 {
		return r.followed(ctx, o)
	}
	selector := labels.Everything()
	if o.Spec.SourceSelector != nil && len(o.Spec.Sources) == 0 {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(o.Spec.SourceSelector); err != nil {
			return nil, &configError{yubav1.ReasonNoSources, "spec.sourceSelector cannot be used: " + err.Error()}
		}
	}
	var list sourcev1.GitRepositoryList
	if err := r.Client.List(ctx, &list, client.InNamespace(o.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list the GitRepositories of %s: %w", o.Namespace, err)
	}
	var out []*sourcev1.GitRepository
	missing := slices.Clone(o.Spec.Sources)
	for i := range list.Items {
		s := &list.Items[i]
		if s.Labels[infrav1.LabelPullRequest] != "" {
			continue // it has the commit of a pull request
		}
		if len(o.Spec.Sources) == 0 || slices.Contains(o.Spec.Sources, s.Name) {
			out = append(out, s)
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Name })
		}
	}
	switch {
	case len(missing) > 0:
		return out, &configError{yubav1.ReasonNoSources, "the GitRepository " + strings.Join(missing, ", ") + " does not exist in the namespace " + o.Namespace}
	case len(out) == 0:
		return out, &configError{yubav1.ReasonNoSources, "there is no GitRepository to follow in the namespace " + o.Namespace}
	}
	return out, nil
}

// connect opens the connections that are missing, or whose configuration has changed. Those that cannot be opened are
// left out.
func (r *Reconciler) connect(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory) error {
	found, problem := r.sources(ctx, o)
	credentials, roots, digest, err := r.credentials(ctx, o)
	if err != nil {
		return err
	}
	var wrong *configError
	m.unsure, m.followed = problem != nil && !errors.As(problem, &wrong), nil
	known, refused := m.links, m.refused
	m.links, m.sources, m.refused = map[string]*link{}, found, map[string]refusal{}
	var kinds []forge.Kind
	for _, s := range found {
		config := digest + "\n" + s.Spec.URL + "\n" + o.Spec.Forge.Type + "\n" + o.Spec.Forge.Address
		name := sourceName(o, s)
		m.followed = append(m.followed, name)
		l := known[name]
		if l == nil || l.config != config {
			if l, err = r.redial(o, m, s, refused[name], config, func() (*link, error) { return r.dial(ctx, o, s, credentials, roots) }); err != nil {
				problem = errors.Join(problem, fmt.Errorf("GitRepository %s: %w", s.Name, err))
				continue
			}
			l.config = config
		}
		l.planner = o
		l.name, l.source, l.rules = name, s, rulesOf(o, s, l.repository.Branch)
		l.identity = identity(l.forge.Kind(), o.Spec.Forge.Address, s.Spec.URL)
		m.links[name] = l
		kinds = append(kinds, l.forge.Kind())
	}
	return errors.Join(problem, r.listen(ctx, o, m, kinds))
}

// sourceName names a GitRepository.
func sourceName(o *yubav1.PullRequestPlanner, s *sourcev1.GitRepository) string {
	if s.Namespace == o.Namespace {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

func (r *Reconciler) dial(ctx context.Context, o *yubav1.PullRequestPlanner, s *sourcev1.GitRepository, c forge.Credentials, roots *x509.CertPool) (*link, error) {
	f, err := r.Open(forge.Config{Kind: forge.Kind(o.Spec.Forge.Type), Repository: s.Spec.URL, API: o.Spec.Forge.Address, Credentials: c, Roots: roots})
	if err != nil {
		return nil, &configError{yubav1.ReasonForgeFailed, err.Error()}
	}
	repository, err := f.Repository(ctx)
	if err != nil {
		return nil, err
	}
	return &link{source: s, forge: f, repository: repository}, nil
}

// rulesOf are the rules for pull requests of a GitRepository.
func rulesOf(o *yubav1.PullRequestPlanner, s *sourcev1.GitRepository, branch string) decide.Rules {
	rules := decide.Rules{Branches: o.Spec.Rules.Branches, Default: branch, Labels: o.Spec.Rules.Labels, NoForks: o.Spec.Rules.Forks == yubav1.ForksNever, NoDrafts: o.Spec.Rules.IgnoreDrafts}
	if ref := s.Spec.Reference; ref != nil && ref.Branch != "" {
		rules.Default = ref.Branch
	}
	return rules
}

// credentials reads the Secrets of a planner. digest identifies their content.
func (r *Reconciler) credentials(ctx context.Context, o *yubav1.PullRequestPlanner) (c forge.Credentials, roots *x509.CertPool, digest string, err error) {
	secret, err := r.secret(ctx, o.Namespace, o.Spec.Forge.SecretRef.Name)
	if err != nil {
		return c, nil, "", err
	}
	sum := sha256.New()
	for _, key := range []string{"token", "username", "password", "bearerToken", "githubAppID", "githubAppInstallationID", "githubAppPrivateKey"} {
		fmt.Fprintf(sum, "%s %d\n", key, len(secret.Data[key]))
		sum.Write(secret.Data[key])
	}
	if c, err = credentialsIn(secret); err != nil {
		return c, nil, "", err
	}
	if ref := o.Spec.Forge.CertSecretRef; ref != nil {
		authority, err := r.secret(ctx, o.Namespace, ref.Name)
		if err != nil {
			return c, nil, "", err
		}
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(authority.Data["ca.crt"]) {
			return c, nil, "", &configError{yubav1.ReasonCredentials, fmt.Sprintf("the Secret %s has no certificate in ca.crt", ref.Name)}
		}
		sum.Write(authority.Data["ca.crt"])
	}
	return c, roots, hex.EncodeToString(sum.Sum(nil)), nil
}

// credentialsIn reads credentials. The keys are also those of a GitRepository's Secret, and of tofu-controller's branch planner.
func credentialsIn(secret *corev1.Secret) (c forge.Credentials, err error) {
	text := func(key string) string { return strings.TrimSpace(string(secret.Data[key])) }
	if id := text("githubAppID"); id != "" {
		c.App = &forge.App{ID: id, Key: forge.Secret(secret.Data["githubAppPrivateKey"])}
		if installation := text("githubAppInstallationID"); installation != "" {
			if c.App.Installation, err = strconv.ParseInt(installation, 10, 64); err != nil {
				return c, &configError{yubav1.ReasonCredentials, fmt.Sprintf("githubAppInstallationID of the Secret %s is not a number", secret.Name)}
			}
		}
		if c.App.Key == "" {
			return c, &configError{yubav1.ReasonCredentials, fmt.Sprintf("the Secret %s has a githubAppID and no githubAppPrivateKey", secret.Name)}
		}
		return c, nil
	}
	c.User = text("username")
	for _, key := range []string{"token", "bearerToken", "password"} {
		if c.Token = forge.Secret(text(key)); c.Token != "" {
			return c, nil
		}
	}
	return c, &configError{yubav1.ReasonCredentials, fmt.Sprintf("the Secret %s has no token, and no githubAppID with githubAppPrivateKey", secret.Name)}
}

func (r *Reconciler) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, &configError{yubav1.ReasonCredentials, fmt.Sprintf("the Secret %s/%s does not exist", namespace, name)}
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s/%s: %w", namespace, name, err)
	}
	return &secret, nil
}
