// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

// Further names in a stack's directory.
const (
	ShellBin  = "bin"
	ShellHome = "shell"

	NewSourceDir = "src.new"
	manifestName = "manifest.json"

	// GivenDir has tofu's input that the program must not change: GivenPlan is shown and applied,
	// GivenNow is compared with it.
	GivenDir  = "given"
	GivenPlan = GivenDir + "/" + PlanName
	GivenNow  = GivenDir + "/now"

	// CLIConfigName is out of tofu's reach.
	CLIConfigName = "tofu.rc"
	// SettingsName completes the backend's configuration while init runs.
	SettingsName = GivenDir + "/settings.tfbackend"
	// SelectedName is the tool's selected workspace, which a user's shell may have changed.
	SelectedName = DataDirTF + "/environment"
	// TempPrefix is short: providers' sockets below it are limited to paths of 108 bytes.
	TempPrefix = "/tmp/yuba-"

	ProvidersTF = DataDirTF + "/providers/"
	ModulesTF   = DataDirTF + "/modules"
	ManifestTF  = ModulesTF + "/modules.json"
)
