module.exports = { apps: [] }
