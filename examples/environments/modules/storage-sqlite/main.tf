# Storage in files of SQLite: the process that uses it creates them.
variable "name" {
  type        = string
  description = "The name of the database."
}

variable "data_dir" {
  type        = string
  description = "The directory of the databases."
}

resource "terraform_data" "database" {
  input = "${var.data_dir}/${var.name}.db"
}

output "storage" {
  description = "The storage, for domains."
  value       = { type = "sqlite", uri = "sqlite://${terraform_data.database.output}", secret = null }
}

output "provides" {
  description = "What domains can rely on."
  value       = { event_store = true, position_store = true, snapshot_store = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["the directory ${var.data_dir}, writable by the process"]
}
