// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/telemetry"
)

// ownHosts are the hosts by which programs name this server's registry.
func (e *engine) ownHosts() (hosts []string) {
	if e.registry == nil || e.registry.server == nil {
		return nil
	}
	for _, host := range []string{e.registry.server.Host(), e.opts.Registry.Host} {
		if host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// ownModule returns the module of this registry that a source in the tool's notation names.
func (e *engine) ownModule(source string) (layout.Module, bool) {
	host, name, found := strings.Cut(source, "/")
	if !found || !slices.Contains(e.ownHosts(), host) {
		return layout.Module{}, false
	}
	m, err := layout.ParseModule(name)
	return m, err == nil
}

// noticePatience limits the search for notices: the bucket may not answer, and without a notice a run
// and a metric are as good.
const noticePatience = 5 * time.Second

// releases returns the versions that the registry knows of a module or provider.
func (e *engine) releases(ctx context.Context, kind usage.Kind, source string) ([]usage.Release, bool) {
	if kind != usage.Module {
		return e.providerReleases(ctx, source)
	}
	m, own := e.ownModule(source)
	if !own {
		return nil, false
	}
	list, err := e.registry.modules.Versions(ctx, m)
	if err != nil {
		return nil, false
	}
	var known []usage.Release
	for _, r := range list {
		one := usage.Release{Version: r.Version}
		if n := r.Notice; n != nil {
			one.Notice = &usage.Notice{Kind: string(n.Kind), Reason: n.Reason, By: n.By, At: n.At}
		}
		known = append(known, one)
	}
	return known, true
}

// providerReleases returns the versions of one of the registry's own providers. The mirror would ask
// upstream, which a look at what is outdated must not do.
func (e *engine) providerReleases(ctx context.Context, source string) (known []usage.Release, found bool) {
	host, name, _ := strings.Cut(source, "/")
	namespace, name, two := strings.Cut(name, "/")
	if !two || e.registry == nil || e.registry.providers == nil || !slices.Contains(e.ownHosts(), host) {
		return nil, false
	}
	list, err := e.registry.providers.Versions(ctx, layout.Provider{Namespace: namespace, Name: name})
	for _, v := range list {
		known = append(known, usage.Release{Version: v.Version})
	}
	return known, err == nil
}

// notices are the warnings about the versions that a stack uses now.
func (k *usageKeeper) notices(stack run.Stack) (list []string) {
	entry, known := k.index.Entry(stack.Namespace, stack.Name)
	if !known || entry.Stack.UID != stack.UID {
		return nil
	}
	for _, s := range []*usage.Set{entry.Applied, entry.Planned} {
		if s != nil {
			list = k.add(list, s.Uses)
		}
	}
	return list
}

// noticesOf are the warnings about the versions that a run resolved.
func (k *usageKeeper) noticesOf(u run.Uses) []string { return k.add(nil, usesOf(u)) }

// maxNotices limits the warnings about one stack.
const maxNotices = 5

func (k *usageKeeper) add(list []string, uses []usage.Use) []string {
	ctx, cancel := context.WithTimeout(context.Background(), noticePatience)
	defer cancel()
	for _, u := range uses {
		m, own := k.engine.ownModule(u.Source)
		if !own || len(list) == maxNotices {
			continue
		}
		releases, _ := k.engine.releases(ctx, u.Kind, u.Source)
		at := slices.IndexFunc(releases, func(r usage.Release) bool { return r.Version == u.Version })
		if at < 0 || releases[at].Notice == nil {
			continue
		}
		if text := noticeText(m, u.Version, releases[at].Notice); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// noticeText is a warning in one line. It begins with run.NoticePrefix.
func noticeText(m layout.Module, version string, n *usage.Notice) string {
	reason := strings.TrimSuffix(strings.Join(strings.Fields(n.Reason), " "), ".")
	if reason != "" {
		reason = ": " + reason
	}
	return fmt.Sprintf("%s%s %s, which is %s%s. Newer versions: yuba registry outdated", run.NoticePrefix, m, version, n.Kind, reason)
}

// tellNotices reconciles the stacks whose notices have changed.
func (k *usageKeeper) tellNotices(context.Context) {
	for _, s := range k.index.Stacks() {
		stack := run.Stack(s)
		now := strings.Join(k.notices(stack), "\n")
		k.mu.Lock()
		before, known := k.told[stack]
		k.told[stack] = now
		k.mu.Unlock()
		if known && before != now || !known && now != "" {
			k.engine.announce(stack)
		}
	}
}

// within returns a filter for one namespace, or for all if it is empty.
func within(namespace string) func(string) bool {
	return func(n string) bool { return namespace == "" || n == namespace }
}

// Users answers who uses what a query names.
func (k *usageKeeper) Users(ctx context.Context, query, namespace string) (content.UserList, error) {
	q, err := usage.ParseQuery(query, k.engine.ownHosts()...)
	if err != nil {
		return content.UserList{}, err
	}
	k.forgetDeleted(ctx)
	users := k.index.Users(q, within(namespace))
	k.index.Mark(ctx, k.engine.releases, users)
	return content.UserList{Count: usage.CountOf(users), Items: users, Incomplete: !k.index.Complete()}, nil
}

// Outdated answers which uses have newer versions.
func (k *usageKeeper) Outdated(ctx context.Context, namespace string) (content.OutdatedList, error) {
	k.forgetDeleted(ctx)
	return content.OutdatedList{Items: k.index.Outdated(ctx, k.engine.releases, within(namespace)), Incomplete: !k.index.Complete()}, nil
}

// moduleUses counts the stacks that use each version of the registry's own modules, for metrics.
func (e *engine) moduleUses() []telemetry.ModuleUse {
	if e.usage == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), noticePatience)
	defer cancel()
	var list []telemetry.ModuleUse
	for _, c := range e.usage.index.Versions(usage.Module) {
		m, own := e.ownModule(c.Source)
		if !own {
			continue
		}
		u := telemetry.ModuleUse{Module: m.String(), Version: c.Version, Stacks: c.Stacks}
		releases, _ := e.releases(ctx, usage.Module, c.Source)
		if at := slices.IndexFunc(releases, func(r usage.Release) bool { return r.Version == c.Version }); at >= 0 && releases[at].Notice != nil {
			u.Notice = releases[at].Notice.Kind
		}
		list = append(list, u)
	}
	return list
}
